/*
 * Finds regular expressions whose time can grow faster than a text. An expression is read as an automaton of
 * positions (Glushkov). It backtracks badly if some text leads from a loop both back to it and into another
 * loop, so that the engine tries each division of the text among the two, and if the match can still fail
 * behind the second (Weber and Seidl, "On the degree of ambiguity of finite automata"). The search for a
 * place to begin is a loop, too. What a lookaround forbids is not taken into account.
 */

/** A part of an expression: where it can begin and end, and whether it can be empty. */
interface Part {
  readonly first: readonly number[];
  readonly last: readonly number[];
  readonly isEmpty: boolean;
}

const NOTHING: Part = { first: [], last: [], isEmpty: true };
/** Characters that most sets tell apart, beside those in the expression. */
const SAMPLES = [...' \t\n\u00a0-_.,:;=/\\"\'`(){}[]<>@#%&|~+*?!$^09afzAFZxéŁ語'];
/** The end of the text, as a character. */
const END = 'END';

class Automaton {
  readonly #source: string;
  readonly #flags: string;
  readonly #sets: string[] = [];
  readonly #follow: Map<number, number>[] = [];
  #at = 0;

  constructor({ source, flags }: RegExp) {
    this.#source = source;
    this.#flags = flags.replace(/[gymd]/g, '');
  }

  /** True if there is a text on which the expression backtracks more often than its length allows. */
  static isSlow(expression: RegExp): boolean {
    const automaton = new Automaton(expression);
    const start = automaton.#position('[\\s\\S]');
    const whole = automaton.#alternatives();
    const isAnchored = /^\(*\^/.test(expression.source) && !expression.multiline;
    if (!isAnchored && !expression.sticky) {
      automaton.#join([start], [start]);
      automaton.#join([start], whole.first);
    }
    return automaton.#hasTwoLoops(new Set(whole.last));
  }

  #position(set: string): number {
    this.#follow.push(new Map());
    return this.#sets.push(set) - 1;
  }

  #join(from: readonly number[], to: readonly number[]): void {
    for (const one of from)
      for (const next of to) {
        const edges = this.#follow[one] as Map<number, number>;
        edges.set(next, (edges.get(next) ?? 0) + 1);
      }
  }

  #alternatives(): Part {
    const parts = [this.#sequence()];
    while (this.#source[this.#at] === '|') {
      this.#at++;
      parts.push(this.#sequence());
    }
    return {
      first: parts.flatMap(({ first }) => first),
      last: parts.flatMap(({ last }) => last),
      isEmpty: parts.some(({ isEmpty }) => isEmpty),
    };
  }

  #sequence(): Part {
    let whole = NOTHING;
    while (this.#at < this.#source.length && !/[|)]/.test(this.#source[this.#at] as string))
      whole = this.#then(whole, this.#repeated());
    return whole;
  }

  #then(one: Part, other: Part): Part {
    this.#join(one.last, other.first);
    return {
      first: one.isEmpty ? [...one.first, ...other.first] : one.first,
      last: other.isEmpty ? [...one.last, ...other.last] : other.last,
      isEmpty: one.isEmpty && other.isEmpty,
    };
  }

  /** An atom as often as its quantifier says; of a limited number of times two stand for all. */
  #repeated(): Part {
    const start = this.#at;
    const once = this.#atom();
    const end = this.#at;
    const [quantifier = ''] = /^(?:[*+?]|\{\d+(?:,\d*)?\})\??/.exec(this.#source.slice(end)) ?? [];
    const behind = end + quantifier.length;
    this.#at = behind;
    if (quantifier === '') return once;
    const [least, most] = timesOf(quantifier);
    const isEndless = most === Number.POSITIVE_INFINITY;
    if (isEndless && least < 2) this.#join(once.last, once.first);
    let whole = least === 0 ? { ...once, isEmpty: true } : once;
    const isTwice = least > 1 || (most > 1 && !isEndless);
    if (isTwice) {
      this.#at = start;
      const again = this.#atom();
      this.#at = behind;
      if (isEndless) this.#join(again.last, again.first);
      whole = this.#then(whole, least > 1 ? again : { ...again, isEmpty: true });
    }
    return whole;
  }

  #atom(): Part {
    const rest = this.#source.slice(this.#at);
    const [around] = /^\(\?<?[=!]/.exec(rest) ?? [];
    if (rest.startsWith('(')) {
      this.#at += /^\((?:\?(?::|<?[=!]|<\w+>))?/.exec(rest)?.[0].length as number;
      const inside = this.#alternatives();
      this.#at++;
      return around === undefined ? inside : NOTHING;
    }
    const [text = ''] = ATOM.exec(rest) ?? [];
    this.#at += text.length;
    if (text === '^' || /^\\(?:[bB\d]|k<)/.test(text)) return NOTHING;
    const position = this.#position(text === '$' ? END : text);
    return { first: [position], last: [position], isEmpty: false };
  }

  #hasTwoLoops(ends: ReadonlySet<number>): boolean {
    const letters = [...new Set([...SAMPLES, ...this.#source, END])];
    const takes = this.#sets.map((set) => {
      const matcher = set === END ? undefined : new RegExp(`^(?:${set})$`, this.#flags);
      return new Set(letters.filter((one) => (matcher ? one !== END && matcher.test(one) : one === END)));
    });
    const next = (state: number, letter: string) =>
      [...(this.#follow[state] as Map<number, number>).keys()].filter((to) => takes[to]?.has(letter));
    const loops = this.#follow.flatMap((_, state) => (this.#reaches(state, state) ? [state] : []));
    // A loop in which the match can end has ended well by then.
    const endsWell = (state: number) =>
      [...ends].some((end) => state === end || (this.#reaches(state, end) && this.#reaches(end, state)));
    const mayFail = loops.filter((state) => !endsWell(state));
    const isDoubled = (state: number) =>
      [...(this.#follow[state] as Map<number, number>)].some(
        ([to, times]) => times > 1 && this.#reaches(to, state),
      );
    if (mayFail.some(isDoubled)) return true;
    return loops.some((one) =>
      mayFail.some(
        (other) => one !== other && this.#reaches(one, other) && isShared(one, other, letters, next),
      ),
    );
  }

  #reaches(from: number, to: number): boolean {
    const seen = new Set<number>();
    const open = [...(this.#follow[from] as Map<number, number>).keys()];
    for (let state = open.pop(); state !== undefined; state = open.pop()) {
      if (state === to) return true;
      if (seen.has(state)) continue;
      seen.add(state);
      open.push(...(this.#follow[state] as Map<number, number>).keys());
    }
    return false;
  }
}

/** One character of an expression, a class, or an escape. */
const ATOM = /^(?:\\(?:u\{[^}]*\}|u[\da-f]{4}|x[\da-f]{2}|p\{[^}]*\}|k<\w+>|.)|\[(?:\\.|[^\]\\])*\]|.)/is;

function timesOf(quantifier: string): [least: number, most: number] {
  if (quantifier.startsWith('*')) return [0, Number.POSITIVE_INFINITY];
  if (quantifier.startsWith('+')) return [1, Number.POSITIVE_INFINITY];
  if (quantifier.startsWith('?')) return [0, 1];
  const [, least = '0', comma, most] = /^\{(\d+)(,(\d*))?/.exec(quantifier) ?? [];
  if (comma === undefined) return [Number(least), Number(least)];
  return [Number(least), most ? Number(most) : Number.POSITIVE_INFINITY];
}

/** True if one text leads from `one` back to it, from `one` to `other`, and from `other` back to it. */
function isShared(
  one: number,
  other: number,
  letters: readonly string[],
  next: (state: number, letter: string) => readonly number[],
): boolean {
  const goal = `${one} ${other} ${other}`;
  const seen = new Set<string>();
  const open = [[one, one, other]];
  for (let states = open.pop(); states !== undefined; states = open.pop()) {
    const [a, b, c] = states as [number, number, number];
    for (const letter of letters)
      for (const toA of next(a, letter))
        for (const toB of next(b, letter))
          for (const toC of next(c, letter)) {
            const key = `${toA} ${toB} ${toC}`;
            if (key === goal) return true;
            if (seen.has(key)) continue;
            seen.add(key);
            open.push([toA, toB, toC]);
          }
  }
  return false;
}

export const isSlow = Automaton.isSlow;

/** The expressions that are written in a file of code, without its comments. */
export function expressionsIn(code: string): RegExp[] {
  return [...code.matchAll(LITERAL)].flatMap(([, source = '', flags = '']) => {
    try {
      return [new RegExp(source, flags)];
    } catch {
      // A part of a path in a template.
      return [];
    }
  });
}

/** No operand of a division is before it. */
const LITERAL =
  /(?<=(?:[(,=:[!&|?{]|=>)\s*|\breturn\s)\/((?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+)\/([dgimsuvy]*)/g;

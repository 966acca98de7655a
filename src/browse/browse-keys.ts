/** A key as `node:readline` reports it. */
export interface Key {
  readonly name?: string | undefined;
  readonly sequence?: string | undefined;
  readonly ctrl?: boolean | undefined;
  readonly meta?: boolean | undefined;
}

export type Movement = 'up' | 'down' | 'page-up' | 'page-down' | 'first' | 'last';

const MOVEMENTS: Readonly<Record<string, Movement>> = {
  up: 'up',
  down: 'down',
  pageup: 'page-up',
  pagedown: 'page-down',
  home: 'first',
  end: 'last',
};
/** As in `less`. */
const LETTERS: Readonly<Record<string, Movement>> = {
  k: 'up',
  j: 'down',
  b: 'page-up',
  ' ': 'page-down',
  '<': 'first',
  G: 'last',
  '>': 'last',
};

/** Returns the movement of a key. Letters move only if `withLetters`: elsewhere they are typed. */
export function movementOf(
  { name = '', sequence = '', ctrl, meta }: Key,
  withLetters: boolean,
): Movement | undefined {
  if (ctrl || meta) return undefined;
  return MOVEMENTS[name] ?? (withLetters ? LETTERS[sequence] : undefined);
}

/** Returns the character that a key types, or undefined for a control key. */
export function characterOf({ sequence = '', ctrl, meta }: Key): string | undefined {
  return !ctrl && !meta && /^[^\p{C}]+$/u.test(sequence) ? sequence : undefined;
}

/** Returns the place after a movement, among `count` places of which `page` fit on the screen. */
export function moved(place: number, movement: Movement, count: number, page: number): number {
  const targets: Record<Movement, number> = {
    up: place - 1,
    down: place + 1,
    'page-up': place - page,
    'page-down': place + page,
    first: 0,
    last: count - 1,
  };
  return Math.max(0, Math.min(count - 1, targets[movement]));
}

/** An event of a made history. */
export interface MadeEvent {
  readonly row: number;
  /** When it was created. */
  readonly at: number;
  readonly hasFailed: boolean;
}

export interface PlainRules {
  /** Failures in a run that is reported. */
  readonly failures: number;
  /** The time since the first of them, in the unit of the events. */
  readonly length: number;
}

export interface PlainChange {
  readonly row: number;
  readonly change: string;
  readonly since: number;
  readonly until: number | null;
}

/**
 * The changes of a row by the rules in their plainest form: all events of the row in a list, and at each of
 * them, and at the end, the newest run looked for from the beginning. The events are in order of creation.
 */
export function plainChanges(
  events: readonly MadeEvent[],
  row: number,
  { failures, length }: PlainRules,
  end: number,
): PlainChange[] {
  const own = events.filter((one) => one.row === row);
  const changes: PlainChange[] = [];
  let failingSince: number | undefined;
  const openRun = (count: number) => {
    let run: MadeEvent[] = [];
    let successes = 0;
    for (const event of own.slice(0, count)) {
      successes = event.hasFailed ? 0 : successes + 1;
      if (event.hasFailed) run.push(event);
      else if (successes >= 2) run = [];
    }
    return run;
  };
  const look = (count: number, now: number) => {
    const run = openRun(count);
    const since = run[0]?.at;
    if (
      failingSince === undefined &&
      since !== undefined &&
      run.length >= failures &&
      now - since >= length
    ) {
      failingSince = since;
      changes.push({ row, change: 'failing', since, until: null });
    }
    if (failingSince !== undefined && since === undefined) {
      changes.push({ row, change: 'recovered', since: failingSince, until: own[count - 2]?.at ?? null });
      failingSince = undefined;
    }
  };
  for (const [index, { at }] of own.entries()) {
    look(index, at);
    look(index + 1, at);
  }
  look(own.length, end);
  return changes;
}

import { type Instant, utcText } from '../time/instant.ts';
import type { BaselineCounts } from './baseline.ts';
import type { CauseCondition } from './cause-conditions.ts';
import type { Cause, Effect } from './exact-counts.ts';
import type { Explained } from './explain.ts';

export function explanationJson(
  { baseline, names, ...rest }: Explained,
  commandOf: (cause: Cause) => string,
) {
  const named = ({ field, op, value }: CauseCondition) => {
    const id = field === 'subscriptionId' && typeof value === 'string' ? value : undefined;
    return { field, op, value, name: (id === undefined ? undefined : names?.nameOf(id)) ?? null };
  };
  const textOf = (instant: Instant | undefined) => instant?.text ?? null;
  return {
    ...countsJson(rest),
    subscriptions: rest.subscriptions,
    baseline: baseline ? countsJson(baseline) : null,
    causes: rest.causes.map((cause, index) => ({
      ...withoutBounds(cause),
      conditions: cause.conditions.map(named),
      command: commandOf(cause),
      baseline: baseline?.ofCauses[index] ?? null,
      same: cause.same.map(conditionJson),
      firstFailed: textOf(cause.firstFailed),
      lastFailed: textOf(cause.lastFailed),
      lastSuccess: textOf(cause.lastSuccess),
      failingSince: textOf(cause.failingSince),
    })),
    unexplained: rest.unexplained,
    onlyInFailures: rest.onlyInFailures.map((effect: Effect) => ({
      ...conditionJson(effect),
      failed: effect.failed,
      ...(effect.delivered > 0 ? { delivered: effect.delivered } : {}),
      ...(effect.values.length > 0 ? { values: effect.values } : {}),
    })),
    notCompared: rest.notCompared,
    notLookedAt: rest.notLookedAt,
  };
}

function countsJson({ after, before, events, failed }: Omit<BaselineCounts, 'ofCauses'>) {
  return { after: utcText(after), before: utcText(before), events, failed };
}

/** The command already contains the span's bounds. */
function withoutBounds({ after: _after, before: _before, isSinceAtEdge: _isAtEdge, ...cause }: Cause) {
  return cause;
}

function conditionJson({ field, op, value }: CauseCondition) {
  return { field, op, value };
}

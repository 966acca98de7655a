import { hooktrail, type RunFlags } from '../../advice.ts';
import type { EventFilters } from '../../filters/event-filters.ts';
import { endpointProblemText } from '../../formats/endpoint-problem.ts';
import { secondText } from '../../formats/summary-words.ts';
import { conditionOn } from '../../items/condition-text.ts';
import type { FieldPath } from '../../items/field-path.ts';
import { valuesOfKey } from '../../questions/grouped-values.ts';
import { receiverOf, shownNames } from '../../questions/health-row.ts';
import { terminalSafeLine } from '../../terminal/terminal-text.ts';
import type { TimeZone } from '../../time/time-zone.ts';
import { valueMembers } from '../health-json.ts';
import { areSubscriptions } from '../health-subject.ts';
import type { ChangeFindings } from './change-findings.ts';
import { movedBound, type RowChange, type WatchedRow } from './watched-rows.ts';

export interface ChangeSubject {
  readonly by: readonly FieldPath[];
  readonly values: readonly unknown[];
  readonly subscriptionId: string | undefined;
  readonly name: string | null;
}

export interface ReportedChange extends RowChange, ChangeSubject, ChangeFindings {}

export function subjectOf(
  by: readonly FieldPath[],
  key: string,
  row: Readonly<Pick<WatchedRow, 'names' | 'address'>> | undefined,
): ChangeSubject {
  const values = valuesOfKey(key);
  const [id] = values;
  const { names, address } = row ?? { names: [], address: null };
  return {
    by,
    values,
    subscriptionId: areSubscriptions(by) && typeof id === 'string' ? id : undefined,
    name: receiverOf({ who: shownNames(names), isShared: names.length > 1, address }),
  };
}

export function reportedJson(
  { key: _key, row, by, values, subscriptionId: _id, name, ...change }: ReportedChange,
  next: string,
): object {
  return {
    ...valueMembers(by, values),
    name,
    ...row,
    ...change,
    next,
  };
}

export function nextCommand(
  { change, previous, since, until, by, values, subscriptionId: id }: ReportedChange,
  filters: EventFilters,
  run: RunFlags,
): string {
  const [after, before] = [movedBound(since, -1), movedBound(until, 1)];
  const times = [...(after ? ['--since', after.text] : []), ...(before ? ['--until', before.text] : [])];
  if (id === undefined) {
    const where = by.flatMap((field, index) => ['--where', conditionOnValue(field, values[index])]);
    return hooktrail('events search', ...filters.words('since', 'until'), ...where, ...times).textFor(run);
  }
  if (change === 'gone') return hooktrail('subscriptions list').textFor(run);
  if (change === 'off') return hooktrail('subscriptions get', id).textFor(run);
  if (change === 'recovered' && previous === 'failing')
    return hooktrail('events search --failed --subscription', id, ...times).textFor(run);
  return hooktrail('events about', id).textFor(run);
}

function conditionOnValue(field: FieldPath, value: unknown): string {
  return value === null
    ? conditionOn(field, 'missing').text
    : conditionOn(field, '=', JSON.stringify(value)).text;
}

export function linesOfChange(reported: ReportedChange, next: string, zone: TimeZone): string[] {
  const { change, row, run, since, until, reminder, values, name, cause, verdict, problem } = reported;
  const shown = (time: string) => secondText(time, zone);
  const ids = values.map((value) => (typeof value === 'string' ? value : JSON.stringify(value))).join(', ');
  const who = name === null ? ids : `${name} (${ids})`;
  const now = `${change}${reminder ? ' still' : ''}`;
  const from = since === null ? [] : [`${until === null ? 'since' : 'from'} ${shown(since)}`];
  const to = until === null ? [] : [`to ${shown(until)}`];
  const counts = run ? `${run.failed} of ${run.events} failed` : undefined;
  const error = row.lastError !== null && run ? `last: ${row.lastError}` : undefined;
  const facts = [[...from, ...to].join(' '), counts, error].filter(Boolean).join(', ');
  const why = problem === null ? '' : `: ${endpointProblemText(problem, zone)}`;
  const conditions = cause?.conditions.map(({ field, op, value }) =>
    `${field} ${op} ${String(value ?? '')}`.trim(),
  );
  return [
    `${now}: ${who}${facts === '' ? '' : `, ${facts}`}`,
    ...(conditions ? [`  cause: ${conditions.join(' and ')}`] : []),
    ...(verdict === null ? [] : [`  endpoint: ${verdict}${why}`]),
    `  next: ${next}`,
  ].map(terminalSafeLine);
}

import type { Call } from '../../command.ts';
import { HooktrailError } from '../../errors.ts';
import { searchCommand } from '../../explain/cause-commands.ts';
import { explainEvents } from '../../explain/explain.ts';
import { explanationJson } from '../../explain/explanation-json.ts';
import { EventFilters } from '../../filters/event-filters.ts';
import {
  type EndpointProblem,
  type EndpointVerdict,
  NO_ADDRESS_PROBLEM,
  probeEndpoint,
  verdictOf,
} from '../../http/endpoint-probe.ts';
import { shownAddress } from '../../names/callback-address.ts';
import { silenced } from '../../terminal/reporter.ts';
import type { Instant } from '../../time/instant.ts';
import { movedBound, type RowChange } from './watched-rows.ts';

/** Looked up when a change is reported. */
export interface ChangeFindings {
  /** By `events explain` over the run; null if nothing stands out. */
  readonly cause: ReturnType<typeof explanationJson>['causes'][number] | null;
  readonly verdict: EndpointVerdict | null;
  readonly problem: EndpointProblem | null;
}

export interface FindingOptions {
  /** Undefined if the service cannot filter by the row's field. */
  readonly filters: EventFilters | undefined;
  readonly concurrency: number;
  readonly endpoint: string | undefined;
}

type FindingCall = Pick<Call, 'settings' | 'context' | 'reporter'>;

/** Time limit for finding a cause, which must not delay an alarm. */
const CAUSE_LIMIT_MS = 10_000;

export async function findAboutChange(
  change: RowChange,
  { filters, concurrency, endpoint }: FindingOptions,
  call: FindingCall,
): Promise<ChangeFindings> {
  const [cause, asked] = await Promise.all([
    causeOf(change, filters, concurrency, call),
    endpoint === undefined ? NOT_ASKED : askEndpoint(endpoint, call.context),
  ]);
  return { cause, ...asked };
}

type EndpointFindings = Pick<ChangeFindings, 'verdict' | 'problem'>;

const NOT_ASKED: EndpointFindings = { verdict: null, problem: null };

async function askEndpoint(address: string, context: FindingCall['context']): Promise<EndpointFindings> {
  if (shownAddress(address) === undefined) return { verdict: 'broken', problem: NO_ADDRESS_PROBLEM };
  const probe = await probeEndpoint(new URL(address), false, context);
  return { verdict: verdictOf(probe), problem: probe.problem };
}

async function causeOf(
  { change, previous, since, until }: RowChange,
  filters: EventFilters | undefined,
  concurrency: number,
  { settings, context, reporter }: FindingCall,
): Promise<ChangeFindings['cause']> {
  const isRun = change === 'failing' || (change === 'recovered' && previous === 'failing');
  if (!isRun || !filters) return null;
  const within = new EventFilters({ ...filters, ...boundsOf(since, until) });
  const over = new AbortController();
  let cancel = () => {};
  const late = new Promise<undefined>((resolve) => {
    cancel = context.clock.startTimer(CAUSE_LIMIT_MS, () => {
      over.abort();
      resolve(undefined);
    });
  });
  const signal = AbortSignal.any([context.signal, over.signal]);
  const call = { settings, context: { ...context, signal }, reporter: silenced(reporter) };
  const explaining = explainEvents(call, { filters: within, from: undefined, concurrency });
  try {
    // A renewal of the token takes no signal, and the alarm does not wait for it.
    const explained = await Promise.race([explaining, late]);
    if (!explained) return null;
    const run = reporter.runFlags;
    const commandOf = (cause: Parameters<typeof searchCommand>[0]) =>
      searchCommand(cause, explained, within).textFor(run);
    return explanationJson(explained, commandOf).causes[0] ?? null;
  } catch (error) {
    context.signal.throwIfAborted();
    if (over.signal.aborted || error instanceof HooktrailError) return null;
    throw error;
  } finally {
    cancel();
  }
}

/** The first failure belongs to the run, the success that ends it does not. */
function boundsOf(since: string | null, until: string | null): Pick<EventFilters, 'after' | 'before'> {
  const bound = (flag: string, instant: Instant | undefined) =>
    instant && { flag, text: instant.text, time: { kind: 'instant' as const, instant } };
  return { after: bound('--since', movedBound(since, -1)), before: bound('--until', movedBound(until, 0)) };
}

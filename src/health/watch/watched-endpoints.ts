import type { Call } from '../../command.ts';
import type { EventFilters } from '../../filters/event-filters.ts';
import type { Service } from '../../http/service.ts';
import { type NamedSubscription, SubscriptionNames } from '../../names/subscription-names.ts';
import { valuesOfKey } from '../../questions/grouped-values.ts';
import { NO_EVENTS } from '../../questions/health-row.ts';
import { quietSubscriptions } from '../../questions/silent-rows.ts';
import type { WatchedRows } from './watched-rows.ts';

/** The service lists only those that are on; others are requested once when they leave the list. */
export class WatchedEndpoints {
  /** False once the service proves not to list subscriptions. */
  isOffered = true;
  readonly #rows: WatchedRows;
  readonly #filters: EventFilters;
  readonly #service: Service;
  readonly #call: Pick<Call, 'context' | 'reporter'>;
  readonly #asked = new Set<string>();
  readonly #known = new Map<string, NamedSubscription>();
  #seenRows = -1;
  #hasWarned = false;

  constructor(
    rows: WatchedRows,
    filters: EventFilters,
    service: Service,
    call: Pick<Call, 'context' | 'reporter'>,
  ) {
    this.#rows = rows;
    this.#filters = filters;
    this.#service = service;
    this.#call = call;
  }

  get hasNewRows(): boolean {
    return this.isOffered && this.#seenRows !== this.#rows.rows.size;
  }

  callbackUrlOf(id: string): string | undefined {
    return this.#known.get(id.toLowerCase())?.callbackUrl;
  }

  /** Requests the list, then rows newly missing from it. Never rejects for errors of the service. */
  async look(): Promise<void> {
    const { context, reporter } = this.#call;
    const names = new SubscriptionNames(this.#service);
    try {
      await names.learn([]);
      context.signal.throwIfAborted();
      const why = names.whyUnknown;
      if (!names.isListed) {
        this.isOffered = why !== undefined;
        if (why !== undefined && !this.#hasWarned)
          reporter.warning(`which subscriptions are off or gone is unknown: ${why}`, { kind: 'incomplete' });
        this.#hasWarned = why !== undefined;
        return;
      }
      this.#hasWarned = false;
      const ids = [...this.#rows.rows.keys()].map(idOfKey);
      const listed = new Set(names.all.map(({ id }) => id.toLowerCase()));
      for (const id of listed) this.#asked.delete(id);
      await names.learn(ids.filter((id) => id !== undefined && !this.#asked.has(id)) as string[]);
      this.#note(names, listed);
    } finally {
      names.close();
    }
  }

  #note(names: SubscriptionNames, listed: ReadonlySet<string>): void {
    const rows = [...this.#rows.rows.keys()].map((key) => ({ ...NO_EVENTS, key, values: valuesOfKey(key) }));
    const quiet = quietSubscriptions(names, rows, this.#filters).filter(({ state }) => state === 'silent');
    for (const { key, values } of [...rows, ...quiet]) {
      const id = String(values[0]).toLowerCase();
      const found = names.of(id);
      if (!found) continue;
      if (!listed.has(id)) this.#asked.add(id);
      this.#known.set(id, found);
      this.#rows.setEndpoint(key, found.state, names.nameOf(id) ?? null);
    }
    this.#seenRows = this.#rows.rows.size;
  }
}

function idOfKey(key: string): string | undefined {
  const [id] = valuesOfKey(key);
  return typeof id === 'string' ? id.toLowerCase() : undefined;
}

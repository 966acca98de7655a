import { advise, hooktrail } from '../advice.ts';
import type { Environment } from '../context.ts';
import { fewOf, ServiceError } from '../errors.ts';
import { memberPath } from '../items/field-path.ts';
import type { Items } from '../items/items.ts';
import { createCursor } from '../items/known-fields.ts';
import { eventsText } from '../terminal/terminal-text.ts';
import { RepeatedCommand, variableText } from './command-runner.ts';

const FIELD_OF_VARIABLE = {
  HOOKTRAIL_EVENT_ID: 'eventId',
  HOOKTRAIL_EVENT_TYPE: 'eventType',
  HOOKTRAIL_EVENT_SUBSCRIPTION_ID: 'subscriptionId',
  HOOKTRAIL_EVENT_CREATED_ON: 'createdOn',
  HOOKTRAIL_EVENT_PUBLISH_STATUS: 'publishStatus',
} as const;
const VARIABLES = Object.keys(FIELD_OF_VARIABLE);

export class EventCommand {
  readonly #command: RepeatedCommand;
  readonly #readFields = createFieldReader();

  constructor(...parts: ConstructorParameters<typeof RepeatedCommand>) {
    this.#command = new RepeatedCommand(...parts);
  }

  /** The page has exactly one item. */
  async handle(items: Items, signal: AbortSignal): Promise<void> {
    const variables = this.#readFields(items);
    const id = variables['HOOKTRAIL_EVENT_ID'];
    const name = id === undefined ? 'an event without an id' : `event ${id}`;
    await this.#command.handle({ name, input: items.text(0), variables }, signal);
  }

  requireAllHandled(): void {
    const events = this.#command.givenUp;
    if (events.length === 0) return;
    throw new ServiceError(`the command did not handle ${eventsText(events.length)}`, {
      details: fewOf(events),
      next: advise`${hooktrail('events get ID --ndjson')} prints an event, to hand it over again`,
    });
  }
}

/** Returns a function that reads the variables of a page's first item; those without text are undefined. */
function createFieldReader(): (items: Items) => Environment {
  const cursor = createCursor(Object.values(FIELD_OF_VARIABLE).map(memberPath));
  return (items) => {
    cursor.read(items.bytes, items.start(0));
    return Object.fromEntries(VARIABLES.map((name, index) => [name, variableText(cursor.text(index))]));
  };
}

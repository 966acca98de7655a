/** The service's Error object (service description, part 2). `code` has the shape `<resource>.<issue_type>`. */
export interface ErrorObject {
  readonly code: string;
  readonly message: string;
  readonly property?: string;
  readonly properties?: Readonly<Record<string, string>>;
}

/** An answer of the event service other than 200. */
export class ServiceFailure extends Error {
  readonly status: number;
  readonly body: ErrorObject;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, body: ErrorObject, headers: Readonly<Record<string, string>> = {}) {
    super(body.message);
    this.status = status;
    this.body = body;
    this.headers = headers;
  }
}

export function badParameter(code: string, property: string, message: string): ServiceFailure {
  return new ServiceFailure(400, { code: `event.${code}`, message, property });
}

/** Types for the part of the load generator that the benches use; the package has none. */
declare module 'autocannon' {
  interface Sent {
    body?: string;
    readonly [part: string]: unknown;
  }
  interface Options {
    readonly url: string;
    readonly connections: number;
    /** Seconds. */
    readonly duration: number;
    readonly requests: readonly {
      readonly method: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly setupRequest: (request: Sent, context: { id?: string }) => Sent;
      readonly onResponse?: (status: number, body: string, context: { id?: string }) => void;
    }[];
  }
  interface Result {
    readonly '2xx': number;
    readonly non2xx: number;
    readonly errors: number;
    /** Seconds. */
    readonly duration: number;
    readonly requests: { readonly average: number };
    /** Milliseconds. */
    readonly latency: {
      readonly p50: number;
      readonly p97_5: number;
      readonly p99: number;
      readonly max: number;
    };
  }
  export default function autocannon(options: Options): Promise<Result> & { stop(): void };
}

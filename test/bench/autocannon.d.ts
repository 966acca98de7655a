/** Types for the part of the load generator that the benches use; the package has none. */
declare module 'autocannon' {
  interface Options {
    readonly url: string;
    readonly connections: number;
    /** Seconds. */
    readonly duration: number;
    readonly requests: readonly {
      readonly method: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly setupRequest: (request: object) => object;
    }[];
  }
  /** Seconds, and milliseconds of latency. */
  type Result = Readonly<Record<'2xx' | 'non2xx' | 'errors' | 'duration', number>> & {
    readonly latency: Readonly<Record<'p50' | 'p99' | 'max', number>>;
  };
  export default function autocannon(options: Options): Promise<Result>;
}

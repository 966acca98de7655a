/** Where requests to the event service get their bearer token. */
export interface TokenSource {
  /** A token good for at least the next minute, refreshed if need be. Throws `NotSignedInError`. */
  accessToken(): Promise<string>;
  /**
   * A token other than the one the service just rejected (401), or undefined where there is none to be had
   * (a token from the environment is never refreshed).
   */
  replace(rejected: string): Promise<string | undefined>;
}

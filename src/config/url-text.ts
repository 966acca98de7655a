/** A URL without the slash that `URL` puts behind a bare origin: as people write it, and ready for a path behind it. */
export function urlText(url: URL): string {
  return url.href.replace(/\/$/, '');
}

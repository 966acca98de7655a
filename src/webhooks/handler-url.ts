import { isLoopback } from '../config/values.ts';
import { UsageError } from '../errors.ts';

/** The address of a handler: `https:`, or `http:` on a loopback host, as for the service's own addresses. */
export function handlerUrl(flag: string): (text: string) => URL {
  return (text) => {
    const refuse = (accepted: string): never => {
      throw new UsageError(`${flag}: '${text}' is not accepted: ${accepted}`);
    };
    if (!URL.canParse(text)) return refuse('a URL such as http://127.0.0.1:3000/hooks');
    const url = new URL(text);
    if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopback(url))) {
      return refuse('an https: URL (http: for loopback hosts alone)');
    }
    if (url.username || url.password) return refuse('a URL without user name and password');
    if (url.hash) return refuse('a URL without fragment');
    return url;
  };
}

type Library = typeof import('oidc-provider');

let loading: Promise<Library> | undefined;

/**
 * Loads `oidc-provider` on every Node that this program runs on, without a word on standard error. The library is made for
 * Node 22 and says so on older ones; all it lacks there is `URL.parse`.
 */
export function loadProvider(): Promise<Library> {
  loading ??= load();
  return loading;
}

async function load(): Promise<Library> {
  const urls = URL as unknown as { parse?: (url: string, base?: string) => URL | null };
  urls.parse ??= (url, base) => (URL.canParse(url, base) ? new URL(url, base) : null);
  const { warn } = console;
  console.warn = (...values: unknown[]) => {
    if (!String(values[0]).includes('oidc-provider WARNING: Unsupported runtime')) warn(...values);
  };
  try {
    return await import('oidc-provider');
  } finally {
    console.warn = warn;
  }
}

// The page's key. A link brings a code, which the server exchanges for a key once; the code is removed from the address at once.
// The key is kept for this tab and origin, including the port: it survives a reload, and no other server on the machine sees it.

const PLACE = "hilt-key";

let code = takeCode();
const waiting: (() => void)[] = [];

window.addEventListener("hashchange", () => (code = takeCode() ?? code));

/** What the server expects first: a fresh code, else the key. */
export function hello(): { key?: string; code?: string } {
  return code ? { code } : key() ? { key: key() } : {};
}

/** The current key. A link opened in a page that has a key adds a code for the next connection. */
export function key(): string {
  return sessionStorage.getItem(PLACE) ?? "";
}

/** Wait for the key while the server exchanges a code: requests without a key are refused. */
export function exchanged(): Promise<void> {
  return code && !key() ? new Promise((go) => waiting.push(go)) : Promise.resolve();
}

export function keep(given: string | undefined): void {
  if (given) sessionStorage.setItem(PLACE, given);
  code = null;
  goOn();
}

/** Drop what the server has refused: the code first, since an old key may still be good. */
export function forget(): void {
  if (code) code = null;
  else sessionStorage.removeItem(PLACE);
  goOn();
}

function goOn(): void {
  for (const go of waiting.splice(0)) go();
}

function takeCode(): string | null {
  const wanted = new URLSearchParams(location.hash.slice(1));
  const found = wanted.get("code");
  if (!found) return null;
  wanted.delete("code");
  history.replaceState(null, "", `${location.pathname}${wanted.size ? `#${wanted}` : ""}`);
  return found;
}

// The page's key. A link brings a code, which the server exchanges for a key once; the code leaves the address at once. The key is
// kept for this tab and this origin, port included: a reload has it, no other server on the machine ever sees it.

const PLACE = "hilt-key";

let code = takeCode();
const waiting: (() => void)[] = [];

window.addEventListener("hashchange", () => (code = takeCode() ?? code));

/** What the server wants to see first: a fresh code, else the key. */
export function hello(): { key?: string; code?: string } {
  return code ? { code } : key() ? { key: key() } : {};
}

/** The key that we have. A link that is opened in a page with a key brings a code beside it, for the next connection. */
export function key(): string {
  return sessionStorage.getItem(PLACE) ?? "";
}

/** While the server exchanges a code there is no key yet, and a request without one is refused: it waits. */
export function exchanged(): Promise<void> {
  return code && !key() ? new Promise((go) => waiting.push(go)) : Promise.resolve();
}

export function keep(given: string | undefined): void {
  if (given) sessionStorage.setItem(PLACE, given);
  code = null;
  goOn();
}

/** The server has refused what we have; an old key may still be good when a used code was not. */
export function forget(): void {
  if (code) code = null;
  else sessionStorage.removeItem(PLACE);
  goOn();
}

function goOn(): void {
  for (const go of waiting.splice(0)) go();
}

function takeCode(): string | null {
  const asked = new URLSearchParams(location.hash.slice(1));
  const found = asked.get("code");
  if (!found) return null;
  asked.delete("code");
  history.replaceState(null, "", `${location.pathname}${asked.size ? `#${asked}` : ""}`);
  return found;
}

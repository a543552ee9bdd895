// The browser as the page uses it: its clock, timers, storage and clipboard. Other files of the page ask here, so that one file says
// what of the browser is used, and what happens when a part of it is switched off.

/** Milliseconds since 1970. */
export const nowMs = (): number => Date.now();

/** Calls once, later. @returns what calls it off */
export function later(ms: number, work: () => void): () => void {
  const timer = setTimeout(work, ms);
  return () => clearTimeout(timer);
}

/** Calls again and again. @returns what ends it */
export function every(ms: number, work: () => void): () => void {
  const timer = setInterval(work, ms);
  return () => clearInterval(timer);
}

/** A time as the clock of the reader's place shows it: `22:31:07.123`. */
export function timeOfDay(at: number): string {
  const date = new Date(at);
  const two = (value: number): string => String(value).padStart(2, "0");
  const ms = String(date.getMilliseconds()).padStart(3, "0");
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${ms}`;
}

/** A time with its day, at the reader's place. */
export function dayAndTime(at: number): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return String(at);
  const two = (value: number): string => String(value).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${timeOfDay(at)}`;
}

/** A time in the form of `<time datetime>`. */
export function isoTime(at: number): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? "" : date.toISOString();
}

/** Something that outlives the page: `tab` until the tab is closed, `browser` for good. */
export function kept(place: "tab" | "browser", name: string): string | undefined {
  try {
    return storage(place).getItem(name) ?? undefined;
  } catch {
    // A browser may keep nothing for this page; then it asks again.
    return undefined;
  }
}

export function keep(place: "tab" | "browser", name: string, text: string | undefined): void {
  try {
    if (text === undefined) storage(place).removeItem(name);
    else storage(place).setItem(name, text);
  } catch {
    // As above: the page works without it.
  }
}

const storage = (place: "tab" | "browser"): Storage => (place === "tab" ? sessionStorage : localStorage);

/** Puts a text into the clipboard. @returns whether it is there */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copySelected(text);
  }
}

/** Browsers have `navigator.clipboard` only for https and loopback. */
function copySelected(text: string): boolean {
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "off-screen";
  document.body.append(area);
  area.select();
  const isCopied = document.execCommand("copy");
  area.remove();
  return isCopied;
}

/** Whether nobody sees the page: another tab is before it. */
export const isHidden = (): boolean => document.visibilityState === "hidden";

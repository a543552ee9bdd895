// Waits of tests: for what becomes so, and for what a test opens.

/** Turns of the host until a condition holds. */
export async function until(isSo: () => boolean | Promise<boolean>, what = "it"): Promise<void> {
  for (let i = 0; i < 20_000_000; i++) {
    if (await isSo()) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
  throw new Error(`${what} does not become so`);
}

/** Waits that a test opens. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}

// The host's own view of rejections that nobody handled.

/**
 * Runs `work` while only the test listens for unhandled rejections, beside what the library itself installs, and gives
 * what reached it. Start systems within `work`, not before.
 */
export async function hostRejections(work: () => Promise<unknown>): Promise<unknown[]> {
  const event = "unhandledRejection";
  const others = process.listeners(event);
  const seen: unknown[] = [];
  const note = (error: unknown): void => void seen.push(error);
  for (const other of others) process.off(event, other);
  process.on(event, note);
  try {
    await work();
    await macrotask();
  } finally {
    process.off(event, note);
    for (const other of others) process.on(event, other);
  }
  return seen;
}

/** Until the host has had its go, and with it has told of rejections. */
export function macrotask(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

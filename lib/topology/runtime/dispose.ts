// Disposes of the values that a component shares, at the end of its topology or program.

/** Disposes of a value if it is disposable. The promise is never rejected: errors go to `onError`. */
export function dispose(value: unknown, onError: (error: unknown) => void): Promise<void> | undefined {
  const owner = value as Partial<AsyncDisposable & Disposable> | null | undefined;
  try {
    if (typeof owner?.[Symbol.asyncDispose] === "function")
      return Promise.resolve(owner[Symbol.asyncDispose]?.()).then(undefined, onError);
    if (typeof owner?.[Symbol.dispose] === "function") owner[Symbol.dispose]?.();
  } catch (error) {
    onError(error);
  }
  return undefined;
}

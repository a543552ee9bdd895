// A promise that a test resolves at a moment of its choice.

export interface Gate<T> {
  readonly promise: Promise<T>;
  open(value: T): void;
}

/** A promise that resolves when the test opens it. */
export function gate<T = void>(): Gate<T> {
  let open!: (value: T) => void;
  const promise = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { promise, open };
}

// A promise that a test opens when it likes.

export interface Gate<T> {
  readonly promise: Promise<T>;
  open(value: T): void;
}

/** Something that is there later, when the test says so. */
export function gate<T = void>(): Gate<T> {
  let open!: (value: T) => void;
  const promise = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { promise, open };
}

// Which step put an item into a queue. A step that takes the item comes after that step in any case, so the two are no race.

interface Put {
  readonly item: unknown;
  readonly key: string;
}

export class Causes {
  readonly #queues = new Map<string, Put[]>();
  readonly #counts = new Map<string, number>();

  /** An item enters a queue. Returns the key that stands for the item. */
  put(queue: string, item: unknown): string {
    const count = (this.#counts.get(queue) ?? 0) + 1;
    this.#counts.set(queue, count);
    const key = `q${queue}.${count}`;
    const puts = this.#queues.get(queue);
    if (puts === undefined) this.#queues.set(queue, [{ item, key }]);
    else puts.push({ item, key });
    return key;
  }

  /** An item leaves a queue. Returns its key; undefined if the item did not enter by a step. */
  take(queue: string, item: unknown): string | undefined {
    const puts = this.#queues.get(queue);
    const index = puts?.findIndex((one) => one.item === item) ?? -1;
    return puts?.splice(index, index < 0 ? 0 : 1)[0]?.key;
  }
}

// The words of a line that were counted already, for every line that may come again. With these marks, a word that comes
// twice is counted once.
//
// A line is open from the moment when it is read until its spout learns that the line is done. In between, any kill may
// repeat the whole line, so each of its words has a mark. Afterwards the spout never emits the line again, and its marks
// are dropped. So the marks never cover more lines than the spout may have pending.
//
// Words of a closed line may still come. When an acker is killed, its spout emits lines again that are not lost, and the
// second attempt may be done before a splitter reaches the first. So a word counts only if its line is open: all words of
// a closed line have been counted, or the line would not have closed. Taking the words of unknown lines for new words
// would count those words twice.

export class OpenLines {
  private readonly marks = new Map<number, Uint32Array>();
  private peak = 0;

  /** Number of open lines. */
  get size(): number {
    return this.marks.size;
  }

  /** The highest number of open lines so far. */
  get most(): number {
    return this.peak;
  }

  /** Opens a line with this number of words. */
  open(line: number, words: number): void {
    this.marks.set(line, new Uint32Array(Math.ceil(words / 32)));
    this.peak = Math.max(this.peak, this.marks.size);
  }

  /** Marks the word at this place of the line, from 0. Returns whether the word was not marked before. */
  first(line: number, at: number): boolean {
    const marks = this.marks.get(line);
    if (marks === undefined) return false;
    const bit = 1 << (at & 31);
    const before = marks[at >>> 5]!;
    marks[at >>> 5] = before | bit;
    return (before & bit) === 0;
  }

  /** Closes a line that is done and will not be emitted again. */
  close(line: number): void {
    this.marks.delete(line);
  }
}

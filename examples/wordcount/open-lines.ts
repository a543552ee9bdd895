// Which words of a line have been counted already, for every line that may come again: what makes counting a word a
// second time the same as counting it once.
//
// A line is open from the moment when it is read until its spout has heard that it is done. In between, any kill may
// bring all of it again, so each of its words has a mark. Once the spout knows, it never emits the line again, and the
// marks can go: there are never more of them than the lines that the spout may have pending.
//
// Words of a closed line still come. When an acker is killed, its spout emits again what is not lost at all, and the
// second attempt may be done while a splitter has yet to come to the first. So a word counts only if its line is open:
// of a closed line, all words have been counted, or it would not have closed. To forget the marks and take words of
// unknown lines for new ones would count those twice.

export class OpenLines {
  private readonly marks = new Map<number, Uint32Array>();
  private peak = 0;

  /** Lines that are open. */
  get size(): number {
    return this.marks.size;
  }

  /** The most that were open at once. */
  get most(): number {
    return this.peak;
  }

  /** The line with this number, and so many words, has been read. */
  open(line: number, words: number): void {
    this.marks.set(line, new Uint32Array(Math.ceil(words / 32)));
    this.peak = Math.max(this.peak, this.marks.size);
  }

  /** Whether the word at this place of the line, from 0, has not been counted before. From now on it has. */
  first(line: number, at: number): boolean {
    const marks = this.marks.get(line);
    if (marks === undefined) return false;
    const bit = 1 << (at & 31);
    const before = marks[at >>> 5]!;
    marks[at >>> 5] = before | bit;
    return (before & bit) === 0;
  }

  /** The line is done, and will not be emitted again. */
  close(line: number): void {
    this.marks.delete(line);
  }
}

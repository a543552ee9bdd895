// Where the reply to a call goes, as the code that answers sees it. request.ts has what is behind it.

declare const answers: unique symbol;

/** The address for the reply to a call. The callee passes it to `ctx.reply` or `ctx.refuse`. */
export interface ReplyTo<R> {
  /** In types only. */
  readonly [answers]: (value: R) => void;
  /** False once the call has ended: a reply would be discarded. */
  readonly open: boolean;
}

// Dead letters with all of their attempts: each can be edited, retried, replayed or dropped, and all that have the same error at once.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { DeedResult } from "../../../pipeline/messages/dead-options.js";
import { ActButton } from "../actions/act-button.js";
import { type ActField, reasonField } from "../model/act-form.js";
import { isEditable, type ShownLetter } from "../model/dead-letter.js";
import { numberText, plural } from "../model/format.js";
import { jsonText } from "../model/json-text.js";
import { Badge, Copy, Empty, Time } from "../parts/index.js";
import type { Args } from "../shell/api.js";
import { isoTime } from "../shell/browser.js";
import { JsonText } from "./json.js";

/** An operation on the letter, or the letters, that its arguments name. */
interface LetterAct<Which> {
  readonly op: string;
  args(which: Which): Args;
}

/** What can be done with the letters of one place. */
export interface LetterActs {
  readonly retry: LetterAct<string>;
  readonly edit: LetterAct<string>;
  readonly drop: LetterAct<string>;
  readonly replay?: LetterAct<string>;
  readonly retryAll: LetterAct<object>;
  readonly dropAll: LetterAct<object>;
}

interface LettersProps {
  readonly letters: readonly ShownLetter[];
  /** How many there are in all. */
  readonly total: number;
  /** They are counted no further. */
  readonly atMost?: number;
  readonly acts: LetterActs;
  /** The page about the message. */
  linkOf?(message: string): string;
}

/** Letters of one call: the operation's limit. */
const AT_ONCE = 1_000;

export function Letters({ letters, total, atMost, acts, linkOf }: LettersProps): JSX.Element {
  const [open, setOpen] = useState<string>();
  if (letters.length === 0)
    return (
      <Empty title="No message is dead">
        A message whose attempts are used up is kept here with all of its errors, until somebody decides.
      </Empty>
    );
  return (
    <div class="letters">
      <div class="table-bar">
        <span class="table-count">
          {plural(letters.length, "dead letter")}
          {total > letters.length ? ` of ${numberText(total, "count", atMost)}` : ""}
        </span>
        <AllActs acts={acts} />
        <Copy text={() => lettersText(letters)} />
      </div>
      <ol class="timeline-rows">
        {letters.map((letter) => {
          const { id, queue } = letter;
          const key = `${queue} ${id}`;
          return (
            <li key={key} class={open === key ? "open" : ""}>
              <button
                type="button"
                class="letter"
                aria-expanded={open === key}
                onClick={() => setOpen(open === key ? undefined : key)}
              >
                <span class="timeline-name">{id}</span>
                <Badge tone="bad">{plural(letter.attempts.length, "attempt")}</Badge>
                <Time at={letter.at} />
                <span class="line">{letter.last}</span>
              </button>
              {open === key ? <Letter letter={letter} acts={acts} href={linkOf?.(id)} /> : null}
            </li>
          );
        })}
      </ol>
    </div>
  );
}

function AllActs({ acts: { retryAll, dropAll } }: { readonly acts: LetterActs }): JSX.Element {
  const error: ActField = {
    name: "error",
    label: "Only those whose last error contains",
    kind: "text",
    help: "Empty: all",
  };
  const which =
    (act: LetterAct<object>) =>
    ({ error: text, ...deed }: Readonly<Record<string, unknown>>) => ({
      ...act.args({ limit: AT_ONCE, ...(text !== undefined && { error: text }) }),
      ...deed,
    });
  return (
    <>
      <ActButton
        label="Retry all"
        op={retryAll.op}
        question={`Retry up to ${AT_ONCE} dead letters?`}
        fields={[error, reasonField(false)]}
        args={which(retryAll)}
        done={counted("retried")}
      >
        <p>They go back to where they died, and have all of their attempts again.</p>
      </ActButton>
      <ActButton
        label="Drop all"
        op={dropAll.op}
        isDangerous
        question={`Drop up to ${AT_ONCE} dead letters for good?`}
        fields={[error, reasonField(true)]}
        args={which(dropAll)}
        done={counted("dropped")}
      />
    </>
  );
}

const counted =
  (what: string) =>
  (answer: unknown): string => {
    const { letters, next } = answer as DeedResult;
    return `${plural(letters, "letter")} ${what}${next === undefined ? "." : "; there may be more."}`;
  };

interface LetterProps {
  readonly letter: ShownLetter;
  readonly acts: LetterActs;
  readonly href: string | undefined;
}

function Letter({ letter, acts, href }: LetterProps): JSX.Element {
  const { id, place, key, at, attempts, value } = letter;
  const { retry, edit, drop, replay } = acts;
  return (
    <div class="timeline-details">
      <p>
        Died at {place}, <Time at={at} />
        {key === undefined || key === null ? "" : `, key ${key}`}
        {href === undefined ? null : (
          <>
            {" · "}
            <a href={href}>where it comes from</a>
          </>
        )}
      </p>
      <ol class="attempts">
        {attempts.map(({ number, error, at: when, note }, i) => (
          <li key={i} value={number}>
            {when === undefined ? null : (
              <>
                <Time at={when} />{" "}
              </>
            )}
            {note === undefined ? null : <Badge tone="bad">{note}</Badge>}
            <pre>{error}</pre>
          </li>
        ))}
      </ol>
      <JsonText label={`Value of ${id}`} value={value} />
      <div class="acts">
        <ActButton
          label="Retry"
          op={retry.op}
          question={`Retry message ${id}?`}
          fields={[reasonField(false)]}
          args={(deed) => ({ ...retry.args(id), ...deed })}
        >
          <p>It goes back to where it died, and has all of its attempts again.</p>
        </ActButton>
        <ActButton
          label="Edit and retry"
          op={edit.op}
          question={`Retry message ${id} with another value?`}
          refusal={isEditable(value) ? undefined : "Its value holds bytes, which cannot be edited as text."}
          fields={[
            {
              name: "value",
              label: "Value (JSON)",
              kind: "json",
              initial: jsonText(value, Number.POSITIVE_INFINITY).text,
              isRequired: true,
            },
            reasonField(false),
          ]}
          args={(values) => ({ ...edit.args(id), ...values })}
        >
          <p>
            The record keeps the value that it had. Dates and maps are texts and objects here, and would be
            stored so.
          </p>
        </ActButton>
        {replay === undefined ? null : (
          <ActButton
            label="Replay"
            op={replay.op}
            question={`Replay message ${id} in a new execution?`}
            fields={[reasonField(false)]}
            args={(deed) => ({ ...replay.args(id), ...deed })}
          >
            <p>The letter goes over to the new execution, which has the configuration of now.</p>
          </ActButton>
        )}
        <ActButton
          label="Drop"
          op={drop.op}
          isDangerous
          question={`Drop message ${id} for good?`}
          fields={[reasonField(true)]}
          args={(deed) => ({ ...drop.args(id), ...deed })}
        >
          <p>It is not tried again. The record keeps its value, its errors and your reason.</p>
        </ActButton>
      </div>
    </div>
  );
}

function lettersText(letters: readonly ShownLetter[]): string {
  const lines = letters.map(({ id, queue, place, at, attempts, last }) =>
    [id, queue, place, isoTime(at), attempts.length, last].join("\t"),
  );
  return `${["id\tqueue\tplace\tdied\tattempts\tlast error", ...lines].join("\n")}\n`;
}

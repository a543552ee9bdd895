// Before the first page: the token is asked for, or the service does not answer yet.

import type { JSX } from "preact";
import { session } from "./session.js";
import { setToken } from "./token.js";

export function SignIn(): JSX.Element {
  const now = session.value;
  const problem = now.phase === "open" ? undefined : now.problem;
  return (
    <main class="sign-in">
      <img src="icon.svg" alt="" width="40" height="40" />
      <h1>signalbox</h1>
      {now.phase === "token" ? <TokenForm problem={problem} /> : <Waiting problem={problem} />}
    </main>
  );
}

function TokenForm({ problem }: { readonly problem: string | undefined }): JSX.Element {
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const text = String(new FormData(event.currentTarget as HTMLFormElement).get("token") ?? "").trim();
    if (text !== "") setToken(text);
  };
  return (
    <form onSubmit={submit}>
      <p>
        The service prints an address that ends in <code>#token=…</code> when it starts. Open that address, or
        write the token here.
      </p>
      <label for="token">Token</label>
      <input id="token" name="token" type="password" autocomplete="off" spellcheck={false} required />
      {problem === undefined ? null : (
        <p role="alert" class="problem">
          {problem}
        </p>
      )}
      <button type="submit" class="button brand">
        Open
      </button>
    </form>
  );
}

function Waiting({ problem }: { readonly problem: string | undefined }): JSX.Element {
  return (
    <p role="status">
      {problem === undefined
        ? "Asking the service …"
        : `${capital(problem)}. Trying again every two seconds.`}
    </p>
  );
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

import { useEffect, useState } from "react";
import type { Session } from "./session.ts";

interface CodeQuestionProps {
  readonly code: string;
  readonly session: Session;
  /** Nothing more is done with the code; why, where the user did not decide it. */
  readonly onEnd: (problem?: string) => void;
}

/** Whose a code is, and what proves to the server that this page asked. */
interface CodeOwner {
  readonly account: string;
  readonly user?: string;
  readonly token: string;
  readonly description: string;
  readonly csrf: string;
}

const GONE = "The address was used before, or is too old. Ask for another one, or enter a token.";

/**
 * Asks whether the tab is signed in with a code of its address. Anybody can send an address: with a code of their own they would get to know
 * what is entered here.
 */
export function CodeQuestion({ code, session, onEnd }: CodeQuestionProps) {
  const [owner, setOwner] = useState<CodeOwner>();
  const [isBusy, setBusy] = useState(false);
  useEffect(() => {
    const gone = new AbortController();
    ask<CodeOwner>("/auth/code/owner", { code }, gone.signal)
      .then(setOwner)
      .catch((error: unknown) => {
        if (!gone.signal.aborted) onEnd(problemOf(error));
      });
    return () => gone.abort();
  }, [code, onEnd]);

  const agree = async ({ csrf }: CodeOwner): Promise<void> => {
    setBusy(true);
    try {
      const { token } = await ask<{ readonly token: string }>("/auth/code", { code, csrf });
      onEnd();
      session.signIn({ kind: "token", token });
    } catch (error) {
      onEnd(problemOf(error));
    }
  };

  if (owner === undefined) {
    return (
      <main className="sign-in">
        <p role="status">Looking at the code…</p>
      </main>
    );
  }
  const { account, user, token, description } = owner;
  const who = user ?? token;
  return (
    <main className="sign-in">
      <form
        aria-labelledby="code-question"
        onSubmit={(event) => {
          event.preventDefault();
          void agree(owner);
        }}
      >
        <h1 id="code-question">Sign in as {who}?</h1>
        <p>
          The address that you opened signs this tab in as{" "}
          {user === undefined ? (
            <>
              the token <strong>{token}</strong>
            </>
          ) : (
            <>
              the user <strong>{user}</strong>
            </>
          )}{" "}
          of the account <strong>{account}</strong>
          {user === undefined && description !== "" && ` (${description})`}.
        </p>
        <p className="quiet">
          Go on if you asked for the address yourself. If someone sent it to you, what you do here
          would be done as {who}.
        </p>
        <button type="submit" className="primary" disabled={isBusy}>
          {isBusy ? "Signing in…" : `Sign in as ${who}`}
        </button>
        <button type="button" disabled={isBusy} onClick={() => onEnd()}>
          Do not sign in
        </button>
      </form>
    </main>
  );
}

class Refused extends Error {
  readonly status: number;

  constructor(status: number, detail: string) {
    super(detail);
    this.status = status;
  }
}

async function ask<T>(
  path: string,
  { code, csrf }: { readonly code: string; readonly csrf?: string },
  signal?: AbortSignal,
): Promise<T> {
  const headers = {
    "x-stackwright-code": code,
    ...(csrf !== undefined && { "x-stackwright-csrf": csrf }),
  };
  const options = { method: "POST", headers, credentials: "omit", cache: "no-store" } as const;
  const answer = await fetch(path, { ...options, ...(signal !== undefined && { signal }) });
  const body = (await answer.json()) as T & { readonly detail?: string };
  if (!answer.ok) throw new Refused(answer.status, body.detail ?? `HTTP ${answer.status}`);
  return body;
}

function problemOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error instanceof Refused && error.status === 401 ? GONE : error.message;
}

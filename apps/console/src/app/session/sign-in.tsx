import { createServerClient, isClientError } from "@stackwright/client";
import { type FormEvent, useEffect, useId, useRef, useState } from "react";
import type { Session } from "./session.ts";

/** Leads to the identity providers of the server, or takes a token, checks it, and begins the session with it. */
export function SignIn({ session }: { readonly session: Session }) {
  const [problem, setProblem] = useState(session.problem);
  const [isBusy, setBusy] = useState(false);
  const [providers, setProviders] = useState<readonly string[]>([]);
  const id = useId();
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    document.title = "Sign in – Stackwright";
    field.current?.focus();
  }, []);
  useEffect(() => {
    const gone = new AbortController();
    const { signal } = gone;
    const read = async <T,>(path: string): Promise<T | undefined> => {
      const answer = await fetch(path, { signal, cache: "no-store", credentials: "same-origin" });
      return answer.status === 200 ? ((await answer.json()) as T) : undefined;
    };
    const look = async (): Promise<void> => {
      const code = takeCode();
      if (code !== undefined) {
        const token = await tokenFor(code);
        if (token !== undefined) return session.signIn({ kind: "token", token });
        setProblem(
          "The address was used before, or is too old. Ask for another one, or enter a token.",
        );
      }
      const known = await read<{ readonly providers: readonly string[] }>("/auth/providers");
      setProviders(known?.providers ?? []);
      if (known === undefined || known.providers.length === 0) return;
      // Another tab, or the return from the provider, may have begun one.
      const begun = await read<{ readonly csrf: string }>("/auth/session");
      if (begun !== undefined) session.signIn({ kind: "login", csrf: begun.csrf });
    };
    // Without an answer there is the field for a token.
    look().catch(() => undefined);
    return () => gone.abort();
  }, [session]);

  const submit = async (event: FormEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    const token = field.current?.value.trim() ?? "";
    if (token === "") {
      setProblem("Enter a token.");
      return;
    }
    setBusy(true);
    try {
      const retry = { maxAttempts: 1, initialDelayMs: 100, maxDelayMs: 100, jitter: 0 };
      await createServerClient({ server: location.origin, token, retry }).showCaller({});
      session.signIn({ kind: "token", token });
    } catch (error) {
      setProblem(problemOf(error));
      setBusy(false);
      field.current?.select();
    }
  };

  return (
    <main className="sign-in">
      <form onSubmit={(event) => void submit(event)} noValidate>
        <h1>Stackwright</h1>
        {providers.map((name) => (
          <a
            key={name}
            className="button"
            href={`/auth/login/${name}?to=${encodeURIComponent(location.pathname)}`}
          >
            Sign in with {name}
          </a>
        ))}
        <label htmlFor={id}>Token</label>
        <input
          ref={field}
          id={id}
          type="password"
          autoComplete="current-password"
          spellCheck={false}
          aria-describedby={`${id}-help`}
          aria-invalid={problem !== undefined}
        />
        <p id={`${id}-help`} className="quiet">
          <code>stackwright bootstrap</code> makes the first token. After <code>npm start</code> it
          is <code>STACKWRIGHT_TOKEN</code> in <code>examples/quickstart/.stackwright/env</code>. It
          stays in this tab until you sign out or close it.
        </p>
        <p role="alert" className="problem-line">
          {problem}
        </p>
        <button type="submit" className="primary" disabled={isBusy}>
          {isBusy ? "Checking…" : "Sign in"}
        </button>
      </form>
    </main>
  );
}

/** The code that the page was opened with. It leaves the address at once, and so the history of the browser. */
function takeCode(): string | undefined {
  const [, code] = /^#code=([\w-]{1,128})$/.exec(location.hash) ?? [];
  if (code !== undefined) history.replaceState(history.state, "", location.pathname);
  return code;
}

/** The token that is kept for a code; undefined where there is none any more. */
async function tokenFor(code: string): Promise<string | undefined> {
  const headers = { "x-stackwright-code": code };
  const options = { method: "POST", headers, credentials: "omit", cache: "no-store" } as const;
  const answer = await fetch("/auth/code", options);
  if (!answer.ok) return undefined;
  return ((await answer.json()) as { readonly token: string }).token;
}

function problemOf(error: unknown): string {
  if (isClientError(error, "unauthenticated")) return "The token is not valid, or has expired.";
  if (isClientError(error, "forbidden")) {
    return "The token is valid, but may not read: it needs the role registry:reader.";
  }
  if (isClientError(error, "CLIENT_INVALID_ARGUMENT")) return "This is not a token.";
  return isClientError(error) ? error.message : String(error);
}

import { createServerClient, isClientError } from "@stackwright/client";
import {
  type FormEvent,
  useCallback,
  useEffect,
  useId,
  useRef,
  useState,
  useSyncExternalStore,
} from "react";
import { CodeQuestion } from "./code-question.tsx";
import type { OpenedCode } from "./opened-code.ts";
import type { Session } from "./session.ts";

interface SignInProps {
  readonly session: Session;
  readonly opened: OpenedCode;
}

/** Asks about the code of the address, if it had one, or shows the form that begins a session. */
export function SignIn({ session, opened }: SignInProps) {
  const code = useSyncExternalStore(opened.subscribe, () => opened.value);
  const [problem, setProblem] = useState(session.problem);
  const onEnd = useCallback(
    (why?: string) => {
      setProblem(why);
      opened.drop();
    },
    [opened],
  );
  if (code === undefined) return <SignInForm session={session} former={problem} />;
  return <CodeQuestion key={code} code={code} session={session} onEnd={onEnd} />;
}

/** Leads to the identity providers of the server, or takes a token, checks it, and begins the session with it. */
function SignInForm({
  session,
  former,
}: {
  readonly session: Session;
  /** Why there is no session. */
  readonly former: string | undefined;
}) {
  const [problem, setProblem] = useState(former);
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
          <code>stackwright admin bootstrap</code> makes the first token. After{" "}
          <code>npm start</code> it is <code>STACKWRIGHT_TOKEN</code> in{" "}
          <code>examples/quickstart/.stackwright/env</code>. It stays in this tab until you sign out
          or close it.
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

function problemOf(error: unknown): string {
  if (isClientError(error, "unauthenticated")) return "The token is not valid, or has expired.";
  if (isClientError(error, "forbidden")) {
    return "The token is valid, but may not read: it needs the role registry:reader.";
  }
  if (isClientError(error, "CLIENT_INVALID_ARGUMENT")) return "This is not a token.";
  return isClientError(error) ? error.message : String(error);
}

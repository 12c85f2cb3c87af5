import { createServerClient, isClientError } from "@stackwright/client";
import { QueryCache, QueryClient, QueryClientProvider, useQuery } from "@tanstack/react-query";
import {
  lazy,
  type ReactNode,
  Suspense,
  use,
  useCallback,
  useEffect,
  useMemo,
  useState,
  useSyncExternalStore,
} from "react";
import { WorkerUrls } from "../graph/worker-urls.ts";
import { observedFetch } from "../live/observed-fetch.ts";
import { canShareWatch, sharedWatch } from "../live/shared-watch.ts";
import { StackStore } from "../live/stack-store.ts";
import { whileVisible } from "../live/while-visible.ts";
import { Loading, ProblemBox } from "../parts/states.tsx";
import { credentialFetch } from "./credential-fetch.ts";
import type { OpenedCode } from "./opened-code.ts";
import { createRegistryApi } from "./registry-api.ts";
import { ServerContext } from "./server-context.tsx";
import type { Session, SessionCredential } from "./session.ts";

/** Whoever is signed in needs none of it. */
const SignIn = lazy(async () => ({ default: (await import("./sign-in.tsx")).SignIn }));

const EXPIRED = "The session has ended: it was revoked, or has expired.";

/** The pages for a session, and the form that begins one. */
export function SessionGate({
  session,
  opened,
  children,
}: {
  readonly session: Session;
  readonly opened: OpenedCode;
  readonly children: ReactNode;
}) {
  const credential = useSyncExternalStore(session.subscribe, () => session.credential);
  if (credential === undefined) {
    return (
      <Suspense>
        <SignIn session={session} opened={opened} />
      </Suspense>
    );
  }
  const key = credential.kind === "token" ? credential.token : credential.csrf;
  return (
    <SignedIn key={key} session={session} opened={opened} credential={credential}>
      {children}
    </SignedIn>
  );
}

interface SignedInProps {
  readonly session: Session;
  readonly opened: OpenedCode;
  readonly credential: SessionCredential;
  readonly children: ReactNode;
}

/** What one credential has read is of no use to the next one: all of it is made anew. */
function SignedIn({ session, opened, credential, children }: SignedInProps) {
  const trusted = use(WorkerUrls);
  const parts = useMemo(() => {
    const stacks = new StackStore();
    const queries = new QueryClient({
      queryCache: new QueryCache({
        onError: (error) => {
          if (isClientError(error) && error.status === 401) session.signOut(EXPIRED);
        },
      }),
      defaultOptions: {
        // The client repeats what may be repeated.
        queries: { retry: false, staleTime: 5_000, refetchOnWindowFocus: true },
      },
    });
    const send = credentialFetch(credential);
    const token = credential.kind === "token" ? credential.token : undefined;
    const client = createServerClient({
      server: location.origin,
      ...(token !== undefined && { token }),
      fetch: observedFetch(send, stacks, () => session.signOut(EXPIRED)),
    });
    const signOut = async (): Promise<void> => {
      if (credential.kind === "login") await send("/auth/logout", { method: "POST" });
      session.signOut();
    };
    const onRefused = (): void => session.signOut(EXPIRED);
    const watch = canShareWatch()
      ? sharedWatch({ credential, trusted, store: stacks, onRefused })
      : client;
    return {
      stacks,
      queries,
      client,
      watch,
      registry: createRegistryApi(token, send),
      opened,
      signOut,
    };
  }, [session, opened, credential, trusted]);
  const { stacks, watch, queries } = parts;
  const [attempt, setAttempt] = useState(0);
  useEffect(
    () => whileVisible(async (signal) => stacks.follow(watch, signal)),
    [stacks, watch, attempt],
  );
  const followAgain = useCallback(() => setAttempt((former) => former + 1), []);
  return (
    <QueryClientProvider client={queries}>
      <WithCaller parts={parts} followAgain={followAgain}>
        {children}
      </WithCaller>
    </QueryClientProvider>
  );
}

interface WithCallerProps {
  readonly parts: {
    readonly stacks: StackStore;
    readonly client: ReturnType<typeof createServerClient>;
    readonly registry: ReturnType<typeof createRegistryApi>;
    readonly opened: OpenedCode;
    readonly signOut: () => Promise<void>;
  };
  readonly followAgain: () => void;
  readonly children: ReactNode;
}

function WithCaller({ parts, followAgain, children }: WithCallerProps) {
  const { stacks, client, registry, opened, signOut } = parts;
  const caller = useQuery({
    queryKey: ["caller"],
    queryFn: async ({ signal }) => (await client.showCaller({}, { signal })).data,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const value = useMemo(
    () =>
      caller.data && {
        client,
        registry,
        stacks,
        followAgain,
        opened,
        caller: caller.data,
        signOut: () => void signOut(),
      },
    [caller.data, client, registry, stacks, followAgain, opened, signOut],
  );
  if (value === undefined) {
    return (
      <main className="sign-in">
        {caller.error === null ? (
          <Loading what="session" />
        ) : (
          <>
            <ProblemBox error={caller.error} retry={() => void caller.refetch()} />
            <button type="button" onClick={() => void signOut()}>
              Sign out
            </button>
          </>
        )}
      </main>
    );
  }
  return <ServerContext value={value}>{children}</ServerContext>;
}

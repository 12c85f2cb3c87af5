import { createServerClient, isClientError } from "@stackwright/client";
import { QueryCache, QueryClient, QueryClientProvider, useQuery } from "@tanstack/react-query";
import { type ReactNode, useEffect, useMemo, useSyncExternalStore } from "react";
import { observedFetch } from "../live/observed-fetch.ts";
import { StackStore } from "../live/stack-store.ts";
import { whileVisible } from "../live/while-visible.ts";
import { Loading, ProblemBox } from "../parts/states.tsx";
import { createRegistryApi } from "./registry-api.ts";
import { ServerContext } from "./server-context.tsx";
import type { Session } from "./session.ts";
import { SignIn } from "./sign-in.tsx";

const EXPIRED = "The session has ended: the token was revoked, or has expired.";

/** The pages for a session, and the form that begins one. */
export function SessionGate({
  session,
  children,
}: {
  readonly session: Session;
  readonly children: ReactNode;
}) {
  const token = useSyncExternalStore(session.subscribe, () => session.token);
  if (token === undefined) return <SignIn session={session} />;
  return (
    <SignedIn key={token} session={session} token={token}>
      {children}
    </SignedIn>
  );
}

interface SignedInProps {
  readonly session: Session;
  readonly token: string;
  readonly children: ReactNode;
}

/** What one token has read is of no use to the next one: all of it is made anew. */
function SignedIn({ session, token, children }: SignedInProps) {
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
    const client = createServerClient({
      server: location.origin,
      token,
      fetch: observedFetch(stacks, () => session.signOut(EXPIRED)),
    });
    return { stacks, queries, client, registry: createRegistryApi(token) };
  }, [session, token]);
  const { stacks, client, queries } = parts;
  useEffect(() => whileVisible(async (signal) => stacks.follow(client, signal)), [stacks, client]);
  return (
    <QueryClientProvider client={queries}>
      <WithCaller parts={parts} session={session}>
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
  };
  readonly session: Session;
  readonly children: ReactNode;
}

function WithCaller({ parts, session, children }: WithCallerProps) {
  const { stacks, client, registry } = parts;
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
        caller: caller.data,
        signOut: () => session.signOut(),
      },
    [caller.data, client, registry, stacks, session],
  );
  if (value === undefined) {
    return (
      <main className="sign-in">
        {caller.error === null ? (
          <Loading what="session" />
        ) : (
          <>
            <ProblemBox error={caller.error} retry={() => void caller.refetch()} />
            <button type="button" onClick={() => session.signOut()}>
              Sign out
            </button>
          </>
        )}
      </main>
    );
  }
  return <ServerContext value={value}>{children}</ServerContext>;
}

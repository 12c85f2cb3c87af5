import type { RunHooks, ServerClient } from "@stackwright/client";

/** A project, or one stack of it. */
export interface HookOwner {
  readonly project: string;
  readonly stack?: string;
}

export type Hook = RunHooks["hooks"][number];

type HookCalls = Pick<
  ServerClient,
  "showProjectHooks" | "showStackHooks" | "setProjectHooks" | "setStackHooks"
>;

/** The hooks of an owner, with what says which they were. */
export function hooksQuery(client: HookCalls, { project, stack }: HookOwner) {
  return {
    queryKey: ["hooks", project, stack ?? ""],
    queryFn: async ({ signal }: { readonly signal: AbortSignal }) => {
      const { data, etag } = await (stack === undefined
        ? client.showProjectHooks({ project }, { signal })
        : client.showStackHooks({ project, stack }, { signal }));
      return { ...data, etag };
    },
  };
}

/** Puts a list in place of the one that was read; refused where that was changed since. */
export async function saveHooks(
  client: HookCalls,
  { project, stack }: HookOwner,
  hooks: readonly Hook[],
  etag: string | undefined,
): Promise<void> {
  const change = { project, body: { hooks }, ...(etag !== undefined && { ifMatch: etag }) };
  await (stack === undefined
    ? client.setProjectHooks(change)
    : client.setStackHooks({ ...change, stack }));
}

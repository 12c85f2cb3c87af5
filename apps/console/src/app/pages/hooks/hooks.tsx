import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Dialog } from "../../parts/dialog.tsx";
import { Empty, Loaded, ProblemBox } from "../../parts/states.tsx";
import { TableScroll } from "../../parts/table-scroll.tsx";
import { Time } from "../../parts/time.tsx";
import { mayDo, useServer } from "../../session/server-context.tsx";
import { HookDialog } from "./hook-dialog.tsx";
import { type Hook, type HookOwner, hooksQuery, saveHooks } from "./hook-owner.ts";

interface HookList {
  readonly hooks: readonly Hook[];
  readonly actor?: string | undefined;
  readonly updated_at?: string | undefined;
  readonly etag: string | undefined;
}

type Opened =
  | { readonly kind: "edit"; readonly hook?: Hook }
  | { readonly kind: "delete"; readonly hook: Hook };

/** The commands that runs execute before and after a plan and an apply. Admins change them. */
export function Hooks({ owner }: { readonly owner: HookOwner }) {
  const { client, caller } = useServer();
  const [opened, setOpened] = useState<Opened>();
  const query = useQuery(hooksQuery(client, owner));
  const isAllowed = mayDo(caller, "admin", owner.project);
  const close = (): void => setOpened(undefined);
  return (
    <section aria-labelledby="hooks">
      <div className="section-head">
        <h2 id="hooks">Hooks</h2>
        {isAllowed && query.data !== undefined && (
          <button type="button" onClick={() => setOpened({ kind: "edit" })}>
            Add a hook…
          </button>
        )}
      </div>
      <p className="quiet">
        Commands of the server's workers, in the order of this list
        {owner.stack !== undefined && ", after those of the project"}.
      </p>
      <Loaded query={query} what="hooks">
        {(list) => (
          <>
            {list.hooks.length === 0 ? (
              <Empty title="There are no hooks">
                <p>
                  A hook is a command before or after the plan or the apply of a run, such as a
                  scanner that reads the plan.
                </p>
              </Empty>
            ) : (
              <HookTable owner={owner} list={list} isAllowed={isAllowed} onOpen={setOpened} />
            )}
            {list.hooks.length > 0 && list.updated_at !== undefined && (
              <p className="quiet">
                Set by {list.actor} <Time at={list.updated_at} />
              </p>
            )}
            {opened?.kind === "edit" && (
              <HookDialog owner={owner} list={list} hook={opened.hook} onClose={close} />
            )}
            {opened?.kind === "delete" && (
              <DeleteDialog owner={owner} list={list} hook={opened.hook} onClose={close} />
            )}
          </>
        )}
      </Loaded>
    </section>
  );
}

interface HookTableProps {
  readonly owner: HookOwner;
  readonly list: HookList;
  readonly isAllowed: boolean;
  readonly onOpen: (opened: Opened) => void;
}

function HookTable({ owner, list, isAllowed, onOpen }: HookTableProps) {
  const { client } = useServer();
  const queries = useQueryClient();
  const { hooks, etag } = list;
  const move = useMutation({
    mutationFn: async (from: number) => {
      const moved = [...hooks];
      moved.splice(from - 1, 0, ...moved.splice(from, 1));
      await saveHooks(client, owner, moved, etag);
    },
    onSettled: async () =>
      queries.invalidateQueries({ queryKey: hooksQuery(client, owner).queryKey }),
  });
  return (
    <>
      <TableScroll>
        <table className="list" aria-labelledby="hooks">
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col">When</th>
              <th scope="col">Command</th>
              <th scope="col">Where it fails</th>
              <th scope="col">
                <span className="hidden">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {hooks.map((hook, at) => (
              <tr key={hook.name}>
                <th scope="row">{hook.name}</th>
                <td>{hook.stage.replaceAll("_", " ")}</td>
                <td className="wide">
                  <code>{commandText(hook)}</code>
                </td>
                <td data-label="where it fails,">
                  {hook.on_failure === "warn" ? "the run continues" : "the run fails"}
                  <div className="quiet">after {hook.timeout_seconds ?? 300} s it is ended</div>
                </td>
                <td>
                  {isAllowed && (
                    <span className="inline">
                      {at > 0 && (
                        <button
                          type="button"
                          aria-label={`Move ${hook.name} up`}
                          disabled={move.isPending}
                          onClick={() => move.mutate(at)}
                        >
                          ↑
                        </button>
                      )}
                      <button
                        type="button"
                        aria-label={`Change ${hook.name}`}
                        onClick={() => onOpen({ kind: "edit", hook })}
                      >
                        Change…
                      </button>
                      <button
                        type="button"
                        aria-label={`Delete ${hook.name}`}
                        onClick={() => onOpen({ kind: "delete", hook })}
                      >
                        Delete…
                      </button>
                    </span>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </TableScroll>
      {move.error !== null && <ProblemBox error={move.error} />}
    </>
  );
}

interface DeleteDialogProps {
  readonly owner: HookOwner;
  readonly list: HookList;
  readonly hook: Hook;
  readonly onClose: () => void;
}

function DeleteDialog({ owner, list, hook, onClose }: DeleteDialogProps) {
  const { client } = useServer();
  const queries = useQueryClient();
  const remove = useMutation({
    mutationFn: async () =>
      saveHooks(
        client,
        owner,
        list.hooks.filter(({ name }) => name !== hook.name),
        list.etag,
      ),
    onSuccess: onClose,
    onSettled: async () =>
      queries.invalidateQueries({ queryKey: hooksQuery(client, owner).queryKey }),
  });
  return (
    <Dialog
      title={`Delete the hook ${hook.name}`}
      confirm="Delete"
      tone="danger"
      isBusy={remove.isPending}
      onConfirm={() => remove.mutate()}
      onClose={onClose}
      problem={remove.error !== null && <ProblemBox error={remove.error} />}
    >
      <p>Steps that begin from now on do not execute it.</p>
    </Dialog>
  );
}

/** The command on one line; of a script its first lines. */
function commandText({ command, script = "" }: Hook): string {
  if (command !== undefined) return command.join(" ");
  const lines = script.trim().split("\n");
  return lines.length > 3 ? `${lines.slice(0, 3).join("\n")}\n…` : lines.join("\n");
}

import type { Operations } from "@stackwright/client";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useId, useState } from "react";
import { Dialog } from "../../parts/dialog.tsx";
import { namesIn } from "../../parts/names-in.ts";
import { Empty, Loaded, ProblemBox } from "../../parts/states.tsx";
import { TableScroll } from "../../parts/table-scroll.tsx";
import { Time } from "../../parts/time.tsx";
import { mayDo, useServer } from "../../session/server-context.tsx";

type DriftHook = Operations["ListDriftHooks"]["output"]["hooks"][number];

/** A hook right after it was made, with the secret that is shown once. */
interface MadeHook {
  readonly hook: DriftHook;
  readonly secret: string;
}

type Opened =
  | { readonly kind: "add" }
  | { readonly kind: "delete"; readonly hook: DriftHook }
  | ({ readonly kind: "made" } & MadeHook);

interface InProject {
  readonly project: string;
}

/** The webhooks by which other systems ask for checks of a project's stacks for drift. Admins make and delete them. */
export function DriftHooks({ project }: InProject) {
  const { client, caller } = useServer();
  const [opened, setOpened] = useState<Opened>();
  const query = useQuery({
    queryKey: ["drift-hooks", project],
    queryFn: async ({ signal }) => (await client.listDriftHooks({ project }, { signal })).data,
  });
  const isAllowed = mayDo(caller, "admin", project);
  const close = (): void => setOpened(undefined);
  return (
    <section aria-labelledby="drift-hooks">
      <div className="section-head">
        <h2 id="drift-hooks">Webhooks that ask for checks for drift</h2>
        {isAllowed && (
          <button type="button" onClick={() => setOpened({ kind: "add" })}>
            Add a webhook…
          </button>
        )}
      </div>
      <p className="quiet">
        Another system that knows of a change, such as the events of a cloud, sends a signed
        request; the stack that it names is checked then.
      </p>
      <Loaded query={query} what="webhooks">
        {({ hooks }) =>
          hooks.length === 0 ? (
            <Empty title="No other system asks for checks">
              <p>Stacks are checked by their rule, and on request here.</p>
            </Empty>
          ) : (
            <TableScroll>
              <table className="list" aria-labelledby="drift-hooks">
                <thead>
                  <tr>
                    <th scope="col">Name</th>
                    <th scope="col">Address</th>
                    <th scope="col">Stacks</th>
                    <th scope="col">Made</th>
                    <th scope="col">
                      <span className="hidden">Actions</span>
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {hooks.map((hook) => (
                    <tr key={hook.name}>
                      <th scope="row">{hook.name}</th>
                      <td className="wide">
                        <code>{addressOf(hook)}</code>
                      </td>
                      <td data-label="stacks:">
                        {hook.stacks.length === 0 ? "all" : hook.stacks.join(", ")}
                      </td>
                      <td>
                        by {hook.actor} <Time at={hook.created_at} />
                      </td>
                      <td>
                        {isAllowed && (
                          <button
                            type="button"
                            aria-label={`Delete the webhook ${hook.name}…`}
                            onClick={() => setOpened({ kind: "delete", hook })}
                          >
                            Delete…
                          </button>
                        )}
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </TableScroll>
          )
        }
      </Loaded>
      {opened?.kind === "add" && (
        <AddDialog
          project={project}
          onClose={close}
          onMade={(made) => setOpened({ kind: "made", ...made })}
        />
      )}
      {opened?.kind === "made" && <MadeDialog made={opened} onClose={close} />}
      {opened?.kind === "delete" && (
        <DeleteDialog project={project} hook={opened.hook} onClose={close} />
      )}
    </section>
  );
}

function addressOf({ webhook_path: path }: DriftHook): string {
  return new URL(path, location.origin).href;
}

interface AddDialogProps extends InProject {
  readonly onClose: () => void;
  readonly onMade: (made: MadeHook) => void;
}

function AddDialog({ project, onClose, onMade }: AddDialogProps) {
  const { client } = useServer();
  const queries = useQueryClient();
  const id = useId();
  const [name, setName] = useState("");
  const [stacks, setStacks] = useState("");
  const add = useMutation({
    mutationFn: async () =>
      (await client.createDriftHook({ project, body: { name, stacks: namesIn(stacks) } })).data,
    onSuccess: ({ webhook_secret: secret = "", ...hook }) => {
      onClose();
      onMade({ hook, secret });
    },
    onSettled: async () => queries.invalidateQueries({ queryKey: ["drift-hooks", project] }),
  });
  return (
    <Dialog
      title="Add a webhook for drift"
      confirm="Add"
      isReady={name !== ""}
      isBusy={add.isPending}
      onConfirm={() => add.mutate()}
      onClose={onClose}
      problem={add.error !== null && <ProblemBox error={add.error} />}
    >
      <label htmlFor={`${id}-name`}>Name, part of its address</label>
      <input
        id={`${id}-name`}
        value={name}
        pattern="[a-z0-9][a-z0-9\-]{0,62}"
        title="Small letters, digits and hyphens"
        spellCheck={false}
        onChange={(event) => setName(event.target.value)}
      />
      <label htmlFor={`${id}-stacks`}>
        Stacks by name, such as <code>prod-*</code>, with commas (empty: all)
      </label>
      <input
        id={`${id}-stacks`}
        value={stacks}
        spellCheck={false}
        onChange={(event) => setStacks(event.target.value)}
      />
    </Dialog>
  );
}

function MadeDialog({
  made: { hook, secret },
  onClose,
}: {
  readonly made: MadeHook;
  readonly onClose: () => void;
}) {
  return (
    <Dialog
      title={`The secret of ${hook.name}`}
      confirm="Done"
      canGoBack={false}
      onConfirm={onClose}
      onClose={onClose}
    >
      <p>It is shown once. The other system signs each delivery with it (HMAC-SHA256).</p>
      <code className="command">{secret}</code>
      <p>It sends them to</p>
      <code className="command">{addressOf(hook)}</code>
    </Dialog>
  );
}

interface DeleteDialogProps extends InProject {
  readonly hook: DriftHook;
  readonly onClose: () => void;
}

function DeleteDialog({ project, hook: { name }, onClose }: DeleteDialogProps) {
  const { client } = useServer();
  const queries = useQueryClient();
  const remove = useMutation({
    mutationFn: async () => client.deleteDriftHook({ project, hook: name }),
    onSuccess: onClose,
    onSettled: async () => queries.invalidateQueries({ queryKey: ["drift-hooks", project] }),
  });
  return (
    <Dialog
      title={`Delete the webhook ${name}`}
      confirm="Delete"
      tone="danger"
      isBusy={remove.isPending}
      onConfirm={() => remove.mutate()}
      onClose={onClose}
      problem={remove.error !== null && <ProblemBox error={remove.error} />}
    >
      <p>Its deliveries are refused from then on. This cannot be undone.</p>
    </Dialog>
  );
}

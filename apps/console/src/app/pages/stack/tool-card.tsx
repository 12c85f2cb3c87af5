import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useId, useState } from "react";
import { Dialog } from "../../parts/dialog.tsx";
import { Loaded, ProblemBox } from "../../parts/states.tsx";
import { mayDo, useServer } from "../../session/server-context.tsx";
import { stackPath, useStackPlace } from "../use-place.ts";
import { isProgram, type StackTool, toolChangeOf } from "./tool-change.ts";

const TOOLS: Readonly<Record<StackTool["tool"], string>> = {
  stackwright: "stackwright: the engine of this server",
  terraform: "terraform on a worker",
  tofu: "tofu on a worker",
  commands: "terraform or tofu commands, where they run",
};

/** What plans and applies a stack, and how the plans of the engine compare with its own. Admins change it. */
export function ToolCard() {
  const place = useStackPlace();
  const { client, caller } = useServer();
  const [isOpen, setOpen] = useState(false);
  const [target, setTarget] = useState<StackTool["offered"][number]>();
  const query = useQuery({
    queryKey: ["tool", place.project, place.stack],
    queryFn: async ({ signal }) => (await client.showStackTool(place, { signal })).data,
  });
  return (
    <section className="card" aria-labelledby="tool">
      <h2 id="tool">Tool</h2>
      <Loaded query={query} what="tool">
        {(tool) => (
          <>
            <dl className="facts-list">
              <div>
                <dt>Plans and applies</dt>
                <dd>
                  {TOOLS[tool.tool]}
                  {tool.version !== undefined && ` (${tool.version})`}
                </dd>
              </div>
              {tool.shadow && (
                <div>
                  <dt>The engine plans beside it</dt>
                  <dd>
                    {tool.equal_in_a_row} of {tool.adopt_after} equal plans in a row
                  </dd>
                </div>
              )}
            </dl>
            {tool.attention !== undefined && (
              <p className="note attention">
                What <Link to={`${stackPath(place)}/r/${tool.attention}`}>the last apply</Link> did
                is not known. Compare the next plan with the real objects.
              </p>
            )}
            {tool.can_adopt && (
              <p className="note">
                {tool.equal_in_a_row === 1
                  ? `The last plan of ${tool.tool} and that of the engine were equal.`
                  : `The last ${tool.equal_in_a_row} plans of ${tool.tool} and those of the engine were equal.`}{" "}
                The engine can take the stack over; {tool.tool} can have it back at any time.
              </p>
            )}
            {mayDo(caller, "admin", place.project) && (
              <div className="actions">
                {tool.can_adopt && (
                  <button
                    type="button"
                    className="primary"
                    onClick={() => setTarget({ tool: "stackwright" })}
                  >
                    Let the engine take over…
                  </button>
                )}
                {tool.tool === "stackwright" &&
                  tool.offered.map((one) => (
                    <button key={nameOf(one)} type="button" onClick={() => setTarget(one)}>
                      Switch to {nameOf(one)}…
                    </button>
                  ))}
                <button type="button" onClick={() => setOpen(true)}>
                  Change the tool…
                </button>
              </div>
            )}
            {target !== undefined && (
              <SwitchDialog present={tool} target={target} onClose={() => setTarget(undefined)} />
            )}
            {isOpen && <ToolDialog tool={tool} onClose={() => setOpen(false)} />}
          </>
        )}
      </Loaded>
    </section>
  );
}

function nameOf({ tool, version }: StackTool["offered"][number]): string {
  return version === undefined ? tool : `${tool} ${version}`;
}

interface SwitchDialogProps {
  readonly present: StackTool;
  readonly target: StackTool["offered"][number];
  readonly onClose: () => void;
}

/** Gives a stack to another tool, or to the engine, with nothing else changed. */
function SwitchDialog({ present, target, onClose }: SwitchDialogProps) {
  const place = useStackPlace();
  const { client } = useServer();
  const queries = useQueryClient();
  const isEngine = target.tool === "stackwright";
  const change = useMutation({
    mutationFn: async () => {
      const tool = target.tool as StackTool["tool"];
      const body = isEngine ? { tool } : { tool, version: target.version ?? "" };
      return client.setStackTool({ ...place, body });
    },
    onSuccess: onClose,
    onSettled: async () =>
      queries.invalidateQueries({ queryKey: ["tool", place.project, place.stack] }),
  });
  return (
    <Dialog
      title={
        isEngine ? `The engine takes over ${place.stack}` : `${place.stack} to ${nameOf(target)}`
      }
      confirm={isEngine ? "Take over" : "Switch"}
      isBusy={change.isPending}
      onConfirm={() => change.mutate()}
      onClose={onClose}
      problem={change.error !== null && <ProblemBox error={change.error} />}
    >
      <p>
        From the next run on {isEngine ? "the engine of this server" : nameOf(target)} plans and
        applies this stack, in place of{" "}
        {present.tool === "stackwright" ? "the engine" : present.tool}. The state is handed over
        with its lineage and a higher serial: nothing of it changes, and no object is touched.
      </p>
      <p>It can be given back in the same way.</p>
    </Dialog>
  );
}

interface ToolDialogProps {
  readonly tool: StackTool;
  readonly onClose: () => void;
}

function ToolDialog({ tool: present, onClose }: ToolDialogProps) {
  const place = useStackPlace();
  const { client } = useServer();
  const queries = useQueryClient();
  const id = useId();
  // Not the one that is shown behind the form meanwhile.
  const [before] = useState(present);
  const [tool, setTool] = useState(present.tool);
  const [version, setVersion] = useState(present.version ?? "");
  const [isShadowed, setShadowed] = useState(present.shadow);
  const [adoptAfter, setAdoptAfter] = useState(String(present.adopt_after));
  const hasVersion = isProgram(tool);
  const count = Number(adoptAfter);
  const save = useMutation({
    mutationFn: async () =>
      client.setStackTool({
        ...place,
        body: toolChangeOf(before, { tool, version, shadow: isShadowed, adoptAfter: count }),
      }),
    onSuccess: onClose,
    onSettled: async () =>
      queries.invalidateQueries({ queryKey: ["tool", place.project, place.stack] }),
  });
  return (
    <Dialog
      title={`The tool of ${place.project}/${place.stack}`}
      confirm="Save"
      isReady={!hasVersion || (Number.isInteger(count) && count > 0)}
      isBusy={save.isPending}
      onConfirm={() => save.mutate()}
      onClose={onClose}
      problem={save.error !== null && <ProblemBox error={save.error} />}
    >
      <p>The state is handed over with its lineage and a higher serial, so that nothing changes.</p>
      <label htmlFor={`${id}-tool`}>Plans and applies</label>
      <select
        id={`${id}-tool`}
        value={tool}
        onChange={(event) => setTool(event.target.value as StackTool["tool"])}
      >
        {Object.entries(TOOLS).map(([name, label]) => (
          <option key={name} value={name}>
            {label}
          </option>
        ))}
      </select>
      {hasVersion && (
        <>
          <label htmlFor={`${id}-version`}>Version (empty: any that a worker offers)</label>
          <input
            id={`${id}-version`}
            value={version}
            spellCheck={false}
            onChange={(event) => setVersion(event.target.value)}
          />
          <label className="check">
            <input
              type="checkbox"
              checked={isShadowed}
              onChange={(event) => setShadowed(event.target.checked)}
            />
            shadow mode: the engine makes each plan, too, and both are compared
          </label>
          <label htmlFor={`${id}-after`}>Equal plans in a row until the engine is offered</label>
          <input
            id={`${id}-after`}
            type="number"
            min="1"
            max="1000"
            step="1"
            required
            value={adoptAfter}
            onChange={(event) => setAdoptAfter(event.target.value)}
          />
        </>
      )}
    </Dialog>
  );
}

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useId, useState } from "react";
import { Dialog } from "../../parts/dialog.tsx";
import { ProblemBox } from "../../parts/states.tsx";
import { useServer } from "../../session/server-context.tsx";
import { type Hook, type HookOwner, hooksQuery, saveHooks } from "./hook-owner.ts";
import { commandOfText, textOfCommand, textOfVariables, variablesOfText } from "./hook-texts.ts";

const STAGES: readonly (readonly [Hook["stage"], string])[] = [
  ["before_plan", "before the plan"],
  ["after_plan", "after the plan"],
  ["before_apply", "before the apply"],
  ["after_apply", "after the apply"],
];

interface HookDialogProps {
  readonly owner: HookOwner;
  readonly list: { readonly hooks: readonly Hook[]; readonly etag: string | undefined };
  /** The one that is changed; undefined for a new one. */
  readonly hook: Hook | undefined;
  readonly onClose: () => void;
}

/** Adds or changes a hook. The list is replaced as it was when the dialog was opened, or not at all. */
export function HookDialog({ owner, list: present, hook, onClose }: HookDialogProps) {
  const { client } = useServer();
  const queries = useQueryClient();
  const id = useId();
  const [list] = useState(present);
  const [name, setName] = useState(hook?.name ?? "");
  const [stage, setStage] = useState<Hook["stage"]>(hook?.stage ?? "after_plan");
  const [kind, setKind] = useState(hook?.command === undefined ? "script" : "command");
  const [text, setText] = useState(hook?.script ?? textOfCommand(hook?.command ?? []));
  const [seconds, setSeconds] = useState(String(hook?.timeout_seconds ?? 300));
  const [onlyWarns, setOnlyWarns] = useState(hook?.on_failure === "warn");
  const [variables, setVariables] = useState(textOfVariables(hook?.environment));
  const save = useMutation({
    mutationFn: async () => {
      const changed: Hook = {
        name,
        stage,
        ...(kind === "script" ? { script: text } : { command: [...commandOfText(text)] }),
        timeout_seconds: Number(seconds),
        on_failure: onlyWarns ? "warn" : "fail",
        ...(variables.trim() !== "" && { environment: variablesOfText(variables) }),
      };
      const hooks =
        hook === undefined
          ? [...list.hooks, changed]
          : list.hooks.map((one) => (one.name === hook.name ? changed : one));
      await saveHooks(client, owner, hooks, list.etag);
    },
    onSuccess: onClose,
    onSettled: async () =>
      queries.invalidateQueries({ queryKey: hooksQuery(client, owner).queryKey }),
  });
  return (
    <Dialog
      title={hook === undefined ? "Add a hook" : `Change the hook ${hook.name}`}
      confirm="Save"
      isReady={name !== "" && text.trim() !== ""}
      isBusy={save.isPending}
      onConfirm={() => save.mutate()}
      onClose={onClose}
      problem={save.error !== null && <ProblemBox error={save.error} />}
    >
      <label htmlFor={`${id}-name`}>Name</label>
      <input
        id={`${id}-name`}
        value={name}
        pattern="[a-z0-9][a-z0-9\-]{0,62}"
        title="Small letters, digits and hyphens"
        spellCheck={false}
        onChange={(event) => setName(event.target.value)}
      />
      <label htmlFor={`${id}-stage`}>When</label>
      <select
        id={`${id}-stage`}
        value={stage}
        onChange={(event) => setStage(event.target.value as Hook["stage"])}
      >
        {STAGES.map(([value, label]) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </select>
      <label htmlFor={`${id}-kind`}>What</label>
      <select id={`${id}-kind`} value={kind} onChange={(event) => setKind(event.target.value)}>
        <option value="script">a script</option>
        <option value="command">a program, without a shell</option>
      </select>
      <label htmlFor={`${id}-text`}>
        {kind === "script"
          ? "Script"
          : "Program and arguments, one on each line, or a list in JSON"}
      </label>
      <textarea
        id={`${id}-text`}
        className="code"
        rows={5}
        spellCheck={false}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <label htmlFor={`${id}-seconds`}>Ended after so many seconds</label>
      <input
        id={`${id}-seconds`}
        type="number"
        min="1"
        max="3600"
        step="1"
        required
        value={seconds}
        onChange={(event) => setSeconds(event.target.value)}
      />
      <label htmlFor={`${id}-variables`}>
        Variables, NAME=value on each line, or an object in JSON; secrets are sensitive variables of
        the stack
      </label>
      <textarea
        id={`${id}-variables`}
        className="code"
        rows={2}
        spellCheck={false}
        value={variables}
        onChange={(event) => setVariables(event.target.value)}
      />
      <label className="check">
        <input
          type="checkbox"
          checked={onlyWarns}
          onChange={(event) => setOnlyWarns(event.target.checked)}
        />
        where it fails, the run continues with a warning
      </label>
    </Dialog>
  );
}

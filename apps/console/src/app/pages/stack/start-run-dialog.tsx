import type { RunMode } from "@stackwright/client";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useId, useState } from "react";
import { Dialog } from "../../parts/dialog.tsx";
import { Loading, ProblemBox } from "../../parts/states.tsx";
import { useServer } from "../../session/server-context.tsx";
import { stackPath } from "../use-place.ts";
import { runsQuery } from "./stack-queries.ts";

const MODES: readonly (readonly [RunMode, string])[] = [
  ["apply", "Plan and apply"],
  ["plan_only", "Plan only, such as for drift"],
  ["refresh_only", "Record what was changed elsewhere"],
  ["import", "Import an object that exists already"],
  ["destroy", "Destroy everything"],
];

interface StartRunDialogProps {
  readonly place: { readonly project: string; readonly stack: string };
  /** What is chosen at first. @default "apply" */
  readonly mode?: RunMode;
  readonly onClose: () => void;
}

/** Requests a run of the configuration that the newest run had. Nothing is applied without an approval. */
export function StartRunDialog({ place, mode: first = "apply", onClose }: StartRunDialogProps) {
  const { client } = useServer();
  const navigate = useNavigate();
  const id = useId();
  const [mode, setMode] = useState<RunMode>(first);
  const [message, setMessage] = useState("");
  const [address, setAddress] = useState("");
  const [objectId, setObjectId] = useState("");
  const isImport = mode === "import";
  const isNamed = !isImport || (address !== "" && objectId !== "");
  const runs = useQuery(runsQuery(client, place));
  const configuration = runs.data?.runs.find((run) => run.configuration !== "")?.configuration;
  const start = useMutation({
    mutationFn: async () =>
      client.createRun({
        ...place,
        body: {
          configuration: configuration ?? "",
          mode,
          message,
          auto_apply: false,
          ...(isImport && { imports: [{ address, id: objectId }] }),
        },
      }),
    onSuccess: ({ data }) => {
      onClose();
      void navigate({ to: `${stackPath(place)}/r/${data.id}` });
    },
  });
  return (
    <Dialog
      title={`Plan ${place.project}/${place.stack}`}
      confirm="Plan"
      tone={mode === "destroy" ? "danger" : "primary"}
      isBusy={start.isPending}
      isReady={configuration !== undefined && isNamed}
      onConfirm={() => start.mutate()}
      onClose={onClose}
      problem={start.error !== null && <ProblemBox error={start.error} />}
    >
      {runs.isPending && <Loading what="configurations" />}
      {runs.error !== null && <ProblemBox error={runs.error} />}
      {runs.data !== undefined && configuration === undefined && (
        <p>
          This stack has no run yet whose configuration could be used. Upload one:{" "}
          <code className="command">
            stackwright runs start FOLDER --stack {place.stack} --project {place.project}
          </code>
        </p>
      )}
      {configuration !== undefined && (
        <>
          <p className="quiet">
            Configuration <code>{configuration.slice(0, 12)}</code>, that of the newest run
          </p>
          <label htmlFor={`${id}-mode`}>What</label>
          <select
            id={`${id}-mode`}
            value={mode}
            onChange={(event) => setMode(event.target.value as RunMode)}
          >
            {MODES.map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
          {isImport && (
            <>
              <label htmlFor={`${id}-address`}>Address of the resource</label>
              <input
                id={`${id}-address`}
                value={address}
                maxLength={1000}
                placeholder="aws_vpc.main"
                onChange={(event) => setAddress(event.target.value)}
              />
              <label htmlFor={`${id}-object`}>ID of the object</label>
              <input
                id={`${id}-object`}
                value={objectId}
                maxLength={4000}
                onChange={(event) => setObjectId(event.target.value)}
              />
            </>
          )}
          <label htmlFor={`${id}-message`}>Message</label>
          <input
            id={`${id}-message`}
            value={message}
            maxLength={1000}
            onChange={(event) => setMessage(event.target.value)}
          />
        </>
      )}
    </Dialog>
  );
}

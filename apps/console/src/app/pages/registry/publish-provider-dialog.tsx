import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useId, useState } from "react";
import { Dialog } from "../../parts/dialog.tsx";
import { Mark } from "../../parts/mark.tsx";
import { ProblemBox } from "../../parts/states.tsx";
import { useServer } from "../../session/server-context.tsx";

interface PublishProviderDialogProps {
  /** The provider that gets a version; without it a new provider with its first version is made. */
  readonly provider?: string;
  readonly onClose: () => void;
}

interface FunctionHealth {
  readonly healthy: boolean;
  readonly latencyMs: number;
  readonly problem: string;
}

/** Makes a function a private provider, or a version of one. The function is asked before the version exists. */
export function PublishProviderDialog({ provider, onClose }: PublishProviderDialogProps) {
  const { registry } = useServer();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const id = useId();
  const [name, setName] = useState(provider ?? "");
  const [version, setVersion] = useState("");
  const [urn, setUrn] = useState("");
  const [description, setDescription] = useState("");
  const check = useMutation({
    mutationFn: async () =>
      registry.send<FunctionHealth>("POST", "/api/v1/registry/function-checks", {
        function_graph_urn: urn.trim(),
      }),
  });
  const publish = useMutation({
    mutationFn: async () => {
      const facts = { provider_version: version.trim(), function_graph_urn: urn.trim() };
      const path = "/v1/private-providers";
      return provider === undefined
        ? registry.send("POST", path, {
            ...facts,
            provider_name: name.trim(),
            provider_description: description,
          })
        : registry.send("POST", `${path}/${encodeURIComponent(provider)}/versions`, {
            ...facts,
            version_description: description,
          });
    },
    onSuccess: () => {
      onClose();
      void navigate({ to: `/registry/${encodeURIComponent(name.trim())}` });
    },
    onSettled: async () =>
      Promise.all(
        ["providers", "provider-versions"].map(async (key) =>
          queries.invalidateQueries({ queryKey: [key] }),
        ),
      ),
  });
  const isFilled = [name, version, urn].every((text) => text.trim() !== "");
  const found = check.data;
  return (
    <Dialog
      title={provider === undefined ? "New private provider" : `New version of ${provider}`}
      confirm={found === undefined ? "Check the function" : "Publish"}
      tone={found?.healthy === false ? "danger" : "primary"}
      isReady={isFilled}
      isBusy={check.isPending || publish.isPending}
      onConfirm={() => (found === undefined ? check.mutate() : publish.mutate())}
      onClose={onClose}
      problem={
        <>
          {check.error !== null && <ProblemBox error={check.error} />}
          {publish.error !== null && <ProblemBox error={publish.error} />}
        </>
      }
    >
      {provider === undefined && (
        <>
          <label htmlFor={`${id}-name`}>Name</label>
          <input
            id={`${id}-name`}
            value={name}
            maxLength={64}
            spellCheck={false}
            placeholder="notes"
            onChange={(event) => setName(event.target.value)}
          />
        </>
      )}
      <label htmlFor={`${id}-version`}>Version</label>
      <input
        id={`${id}-version`}
        value={version}
        maxLength={128}
        spellCheck={false}
        placeholder="1.0.0"
        onChange={(event) => setVersion(event.target.value)}
      />
      <label htmlFor={`${id}-urn`}>URN of the function</label>
      <input
        id={`${id}-urn`}
        value={urn}
        maxLength={256}
        spellCheck={false}
        placeholder="urn:fss:REGION:PROJECT:function:default:NAME:VERSION"
        onChange={(event) => {
          setUrn(event.target.value);
          // What was found is about another function.
          check.reset();
        }}
      />
      <label htmlFor={`${id}-description`}>Description</label>
      <input
        id={`${id}-description`}
        value={description}
        maxLength={1024}
        onChange={(event) => setDescription(event.target.value)}
      />
      {found !== undefined && (
        <p className={found.healthy ? "note" : "problem"} role="status">
          <Mark shape={found.healthy ? "check" : "cross"} />{" "}
          {found.healthy
            ? `The function answers with a schema, in ${Math.round(found.latencyMs)} ms.`
            : `The function does not answer as it should: ${found.problem}`}
        </p>
      )}
    </Dialog>
  );
}

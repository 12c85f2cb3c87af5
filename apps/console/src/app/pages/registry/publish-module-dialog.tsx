import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useId, useState } from "react";
import { Dialog } from "../../parts/dialog.tsx";
import { ProblemBox } from "../../parts/states.tsx";
import { useServer } from "../../session/server-context.tsx";

interface PublishModuleDialogProps {
  /** NAMESPACE/NAME/SYSTEM of the module that gets a version. */
  readonly address?: string;
  readonly onClose: () => void;
}

const ADDRESS = /^[^/\s]+\/[^/\s]+\/[^/\s]+$/;

/** Publishes an archive as a version of a private module. The server reads it before the version exists, and says what is wrong with it. */
export function PublishModuleDialog({ address: given, onClose }: PublishModuleDialogProps) {
  const { client } = useServer();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const id = useId();
  const [address, setAddress] = useState(given ?? "");
  const [version, setVersion] = useState("");
  const [file, setFile] = useState<File>();
  const publish = useMutation({
    mutationFn: async () => {
      const [namespace = "", name = "", system = ""] = address.trim().split("/");
      const body = new Uint8Array((await file?.arrayBuffer()) ?? new ArrayBuffer(0));
      return client.publishModule({ namespace, name, system, version: version.trim(), body });
    },
    onSuccess: () => {
      onClose();
      void navigate({ to: `/registry/modules/${address.trim()}` });
    },
    onSettled: async () =>
      Promise.all(
        ["modules", "module"].map(async (key) => queries.invalidateQueries({ queryKey: [key] })),
      ),
  });
  const isReady = ADDRESS.test(address.trim()) && version.trim() !== "" && file !== undefined;
  return (
    <Dialog
      title={given === undefined ? "New private module" : `New version of ${given}`}
      confirm="Publish"
      isReady={isReady}
      isBusy={publish.isPending}
      onConfirm={() => publish.mutate()}
      onClose={onClose}
      problem={publish.error !== null && <ProblemBox error={publish.error} />}
    >
      {given === undefined && (
        <>
          <label htmlFor={`${id}-address`}>Address</label>
          <input
            id={`${id}-address`}
            value={address}
            maxLength={200}
            spellCheck={false}
            placeholder="NAMESPACE/NAME/SYSTEM"
            onChange={(event) => setAddress(event.target.value)}
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
      <label htmlFor={`${id}-file`}>Archive of its folder (.tar.gz)</label>
      <input
        id={`${id}-file`}
        type="file"
        accept=".tar.gz,.tgz,application/gzip"
        onChange={(event) => setFile(event.target.files?.[0])}
      />
    </Dialog>
  );
}

import { Dialog } from "../../parts/dialog.tsx";
import type { MadeSecret } from "./destination-dialog.tsx";

interface SecretDialogProps {
  readonly made: MadeSecret;
  readonly onClose: () => void;
}

/** Shows a secret of a destination, once. */
export function SecretDialog({ made: { name, secret }, onClose }: SecretDialogProps) {
  return (
    <Dialog
      title={`The secret of ${name}`}
      confirm="Done"
      canGoBack={false}
      onConfirm={onClose}
      onClose={onClose}
    >
      <p>
        It is shown once. The receiver verifies the signature of each request with it, and keeps it
        where secrets are kept.
      </p>
      <code className="command">{secret}</code>
    </Dialog>
  );
}

import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { createTrustedUrls, WorkerUrls } from "./graph/worker-urls.ts";
import { createConsoleRouter } from "./router.tsx";
import { OpenedCode } from "./session/opened-code.ts";
import { Session } from "./session/session.ts";
import { SessionGate } from "./session/session-gate.tsx";
import { applyTheme, readTheme } from "./style/theme.ts";

const root = document.getElementById("root");
if (root === null) throw new Error("the page has no root");
applyTheme(readTheme());
const session = new Session(sessionStorage);
// Before the router reads the address.
const opened = new OpenedCode(window);
const workerUrls = createTrustedUrls(location.origin);
const router = createConsoleRouter();
createRoot(root).render(
  <StrictMode>
    <WorkerUrls value={workerUrls}>
      <SessionGate session={session} opened={opened}>
        <RouterProvider router={router} />
      </SessionGate>
    </WorkerUrls>
  </StrictMode>,
);

import { useQuery } from "@tanstack/react-query";
import { Link, Outlet } from "@tanstack/react-router";
import { useState, useSyncExternalStore } from "react";
import { frozenPlaces } from "../../parts/active-freeze.ts";
import { PageHead } from "../../parts/page-head.tsx";
import { Loaded } from "../../parts/states.tsx";
import { Tabs } from "../../parts/tabs.tsx";
import { Time, useNow } from "../../parts/time.tsx";
import { usePath } from "../../parts/use-address.ts";
import { mayDo, useServer } from "../../session/server-context.tsx";
import { FreezeDialog } from "../freeze/freeze-dialog.tsx";

/** What surrounds the pages of one project: its name, whether it is frozen, its tabs. */
export function ProjectPage() {
  const { project = "" } = usePath<"project">();
  const { client, caller, stacks: store } = useServer();
  const settings = useQuery({
    queryKey: ["project", project],
    queryFn: async ({ signal }) => (await client.showProject({ project }, { signal })).data,
  });
  const [isFreezing, setFreezing] = useState(false);
  const { stacks } = useSyncExternalStore(store.subscribe, store.snapshot);
  const [first] = frozenPlaces(stacks, useNow());
  // The bar on all pages says it already, but of a project without stacks, or behind that of another one.
  const isInBar = first?.project === project && first.stack === undefined;
  const base = `/p/${project}`;
  const mayRead = mayDo(caller, "deployer", project);
  const { display_name: name = "", freeze } = settings.data ?? {};
  return (
    <>
      <PageHead
        title={name === "" ? project : name}
        part="Project"
        actions={
          settings.data !== undefined &&
          mayDo(caller, "admin", project) && (
            <button type="button" onClick={() => setFreezing(true)}>
              Freeze…
            </button>
          )
        }
      >
        {freeze !== undefined && !isInBar && (
          <p className="note attention">
            Frozen by {freeze.actor} <Time at={freeze.at} />: {freeze.reason}.{" "}
            <Link to="/frozen">What is frozen</Link>
          </p>
        )}
      </PageHead>
      <Loaded query={settings} what="project">
        {() => (
          <>
            {isFreezing && (
              <FreezeDialog
                projects={[project]}
                project={project}
                onClose={() => setFreezing(false)}
              />
            )}
            {mayRead && (
              <Tabs
                label="Project"
                items={[
                  { to: base, label: "Overview", exact: true },
                  { to: `${base}/plan-sets`, label: "Plan sets" },
                  { to: `${base}/notifications`, label: "Notifications" },
                  { to: `${base}/hooks`, label: "Hooks" },
                ]}
              />
            )}
            <Outlet />
          </>
        )}
      </Loaded>
    </>
  );
}

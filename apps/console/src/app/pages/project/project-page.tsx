import { isClientError } from "@stackwright/client";
import { useQuery } from "@tanstack/react-query";
import { Outlet } from "@tanstack/react-router";
import { PageHead } from "../../parts/page-head.tsx";
import { Loaded } from "../../parts/states.tsx";
import { Tabs } from "../../parts/tabs.tsx";
import { Time } from "../../parts/time.tsx";
import { usePath } from "../../parts/use-address.ts";
import { mayDo, useServer } from "../../session/server-context.tsx";

/** What surrounds the pages of one project: its name, whether it is frozen, its tabs. */
export function ProjectPage() {
  const { project = "" } = usePath<"project">();
  const { client, caller } = useServer();
  const settings = useQuery({
    queryKey: ["project", project],
    queryFn: async ({ signal }) => (await client.showProject({ project }, { signal })).data,
  });
  const freeze = useQuery({
    queryKey: ["project-freeze", project],
    queryFn: async ({ signal }) => {
      try {
        return (await client.showProjectFreeze({ project }, { signal })).data;
      } catch (error) {
        if (isClientError(error, "not_found")) return null;
        throw error;
      }
    },
  });
  const base = `/p/${project}`;
  const mayRead = mayDo(caller, "deployer", project);
  return (
    <Loaded query={settings} what="project">
      {({ display_name: name }) => (
        <>
          <PageHead title={name === "" ? project : name} part="Project">
            {freeze.data !== null && freeze.data !== undefined && (
              <p className="note attention">
                Frozen by {freeze.data.actor} <Time at={freeze.data.at} />: {freeze.data.reason}
              </p>
            )}
          </PageHead>
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
  );
}

import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
} from "@tanstack/react-router";
import { Frame } from "./frame.tsx";
import { OverviewPage } from "./pages/overview-page.tsx";
import { NotFound } from "./parts/not-found.tsx";
import { Loading, ProblemBox } from "./parts/states.tsx";
import { parseSearch, stringifySearch } from "./search-text.ts";

/** The pages by address, each loaded when it is first opened but for the overview. */
export function createConsoleRouter() {
  const root = createRootRoute({ component: Frame, notFoundComponent: NotFound });
  const inRoot = (path: string, component: ReturnType<typeof lazyRouteComponent>) =>
    createRoute({ getParentRoute: () => root, path, component });
  const project = createRoute({
    getParentRoute: () => root,
    path: "/p/$project",
    component: lazyRouteComponent(
      async () => import("./pages/project/project-page.tsx"),
      "ProjectPage",
    ),
  });
  const inProject = (path: string, component: ReturnType<typeof lazyRouteComponent>) =>
    createRoute({ getParentRoute: () => project, path, component });
  const stack = createRoute({
    getParentRoute: () => root,
    path: "/p/$project/s/$stack",
    component: lazyRouteComponent(async () => import("./pages/stack/stack-page.tsx"), "StackPage"),
  });
  const inStack = (path: string, component: ReturnType<typeof lazyRouteComponent>) =>
    createRoute({ getParentRoute: () => stack, path, component });
  const run = createRoute({
    getParentRoute: () => root,
    path: "/p/$project/s/$stack/r/$run",
    component: lazyRouteComponent(async () => import("./pages/run/run-page.tsx"), "RunPage"),
  });
  const tree = root.addChildren([
    createRoute({ getParentRoute: () => root, path: "/", component: OverviewPage }),
    inRoot(
      "/projects",
      lazyRouteComponent(async () => import("./pages/projects-page.tsx"), "ProjectsPage"),
    ),
    project.addChildren([
      inProject(
        "/",
        lazyRouteComponent(
          async () => import("./pages/project/project-summary.tsx"),
          "ProjectSummary",
        ),
      ),
      inProject(
        "/plan-sets",
        lazyRouteComponent(async () => import("./pages/project/plan-sets-tab.tsx"), "PlanSetsTab"),
      ),
      inProject(
        "/plan-sets/$set",
        lazyRouteComponent(async () => import("./pages/project/plan-set-page.tsx"), "PlanSetPage"),
      ),
      inProject(
        "/notifications",
        lazyRouteComponent(
          async () => import("./pages/project/notifications-tab.tsx"),
          "NotificationsTab",
        ),
      ),
      inProject(
        "/hooks",
        lazyRouteComponent(async () => import("./pages/project/hooks-tab.tsx"), "HooksTab"),
      ),
    ]),
    stack.addChildren([
      inStack(
        "/",
        lazyRouteComponent(async () => import("./pages/stack/stack-summary.tsx"), "StackSummary"),
      ),
      inStack(
        "/resources",
        lazyRouteComponent(async () => import("./pages/stack/resources-tab.tsx"), "ResourcesTab"),
      ),
      inStack(
        "/graph",
        lazyRouteComponent(async () => import("./pages/stack/graph-tab.tsx"), "GraphTab"),
      ),
      inStack(
        "/outputs",
        lazyRouteComponent(async () => import("./pages/stack/outputs-tab.tsx"), "OutputsTab"),
      ),
      inStack(
        "/variables",
        lazyRouteComponent(async () => import("./pages/stack/variables-tab.tsx"), "VariablesTab"),
      ),
      inStack(
        "/runs",
        lazyRouteComponent(async () => import("./pages/stack/runs-tab.tsx"), "RunsTab"),
      ),
      inStack(
        "/history",
        lazyRouteComponent(async () => import("./pages/stack/history-tab.tsx"), "HistoryTab"),
      ),
      inStack(
        "/drift",
        lazyRouteComponent(async () => import("./pages/stack/drift-tab.tsx"), "DriftTab"),
      ),
      inStack(
        "/tool",
        lazyRouteComponent(async () => import("./pages/stack/tool-tab.tsx"), "ToolTab"),
      ),
      inStack(
        "/settings",
        lazyRouteComponent(async () => import("./pages/stack/settings-tab.tsx"), "SettingsTab"),
      ),
    ]),
    run,
    inRoot(
      "/frozen",
      lazyRouteComponent(async () => import("./pages/freeze/frozen-page.tsx"), "FrozenPage"),
    ),
    inRoot(
      "/drift",
      lazyRouteComponent(async () => import("./pages/drift-page.tsx"), "DriftPage"),
    ),
    inRoot(
      "/graph",
      lazyRouteComponent(async () => import("./pages/stacks-graph-page.tsx"), "StacksGraphPage"),
    ),
    inRoot(
      "/registry",
      lazyRouteComponent(async () => import("./pages/registry/registry-page.tsx"), "RegistryPage"),
    ),
    inRoot(
      "/registry/$provider",
      lazyRouteComponent(async () => import("./pages/registry/provider-page.tsx"), "ProviderPage"),
    ),
    inRoot(
      "/registry/upstream/$host/$namespace/$name",
      lazyRouteComponent(async () => import("./pages/registry/upstream-page.tsx"), "UpstreamPage"),
    ),
    inRoot(
      "/registry/modules/$namespace/$name/$system",
      lazyRouteComponent(async () => import("./pages/registry/module-page.tsx"), "ModulePage"),
    ),
    inRoot(
      "/policies",
      lazyRouteComponent(async () => import("./pages/policies/policies-page.tsx"), "PoliciesPage"),
    ),
    inRoot(
      "/policies/$policySet",
      lazyRouteComponent(
        async () => import("./pages/policies/policy-set-page.tsx"),
        "PolicySetPage",
      ),
    ),
    inRoot(
      "/tools",
      lazyRouteComponent(async () => import("./pages/tools/tools-page.tsx"), "ToolsPage"),
    ),
    inRoot(
      "/identity",
      lazyRouteComponent(async () => import("./pages/identity/identity-page.tsx"), "IdentityPage"),
    ),
    inRoot(
      "/audit/webhooks",
      lazyRouteComponent(
        async () => import("./pages/audit/audit-webhooks-page.tsx"),
        "AuditWebhooksPage",
      ),
    ),
    inRoot(
      "/debug/krt",
      lazyRouteComponent(
        async () => import("./pages/live-view/live-graph-page.tsx"),
        "LiveGraphPage",
      ),
    ),
    inRoot(
      "/audit",
      lazyRouteComponent(async () => import("./pages/audit/audit-page.tsx"), "AuditPage"),
    ),
    inRoot(
      "/access",
      lazyRouteComponent(async () => import("./pages/access-page.tsx"), "AccessPage"),
    ),
    inRoot(
      "/settings/variable-sets",
      lazyRouteComponent(
        async () => import("./pages/variables/variable-sets-page.tsx"),
        "VariableSetsPage",
      ),
    ),
    inRoot(
      "/settings/variable-sets/$accountSet",
      lazyRouteComponent(
        async () => import("./pages/variables/variable-set-page.tsx"),
        "VariableSetPage",
      ),
    ),
    inRoot(
      "/settings/accounts",
      lazyRouteComponent(async () => import("./pages/accounts/accounts-page.tsx"), "AccountsPage"),
    ),
    inRoot(
      "/settings/accounts/$account",
      lazyRouteComponent(async () => import("./pages/accounts/account-page.tsx"), "AccountPage"),
    ),
    inRoot(
      "/settings",
      lazyRouteComponent(async () => import("./pages/settings-page.tsx"), "SettingsPage"),
    ),
  ]);
  return createRouter({
    routeTree: tree,
    basepath: "/console",
    parseSearch,
    stringifySearch,
    defaultPreload: "intent",
    defaultPendingComponent: () => <Loading what="page" />,
    defaultPendingMs: 150,
    defaultPendingMinMs: 0,
    defaultErrorComponent: ({ error, reset }) => <ProblemBox error={error} retry={reset} />,
    scrollRestoration: true,
  });
}

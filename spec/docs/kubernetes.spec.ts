// The manifests of docs/guide/kubernetes.md: against the types and the schemas of Kubernetes and KEDA, and against the program that they
// deploy. No cluster is needed, and no network.

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ScaledObject } from "@kubernetes-models/keda/keda.sh/v1alpha1/ScaledObject";
import { Deployment, type IDeployment } from "kubernetes-models/apps/v1/Deployment";
import { PodDisruptionBudget } from "kubernetes-models/policy/v1/PodDisruptionBudget";
import { type IService, Service } from "kubernetes-models/v1/Service";
import { httpServer, run } from "signalbox/service";
import { memory } from "signalbox/store";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { SHUTDOWN, shop } from "../../examples/kubernetes/shop.js";
import { SHUTDOWN as WORKERS_SHUTDOWN, workers } from "../../examples/kubernetes/workers.js";
import { APPLICATION_DEFAULTS } from "../../lib/service/application/options.js";
import { HEALTH_DEFAULTS } from "../../lib/service/health/options.js";
import { HOST_METRICS } from "../../lib/service/telemetry/host-metrics.js";
import { headOf } from "../../lib/service/telemetry/series.js";
import { until } from "../support/until.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const FOLDER = join(root, "examples/kubernetes");
const SECOND = 1_000;

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
}

const manifests = new Map<string, Manifest>(
  readdirSync(FOLDER)
    .filter((name) => name.endsWith(".yaml"))
    .map((name) => [name, parse(readFileSync(join(FOLDER, name), "utf8")) as Manifest]),
);
const deploymentOf = (name: string): IDeployment => manifests.get(name) as unknown as IDeployment;
const deployment = deploymentOf("deployment.yaml");
const container = deployment.spec?.template.spec?.containers[0];

/** The schemas, by kind, and where the types are. */
const KINDS: Readonly<Record<string, { make(of: never): { validate(): void }; readonly from: string }>> = {
  Deployment: { make: (of) => new Deployment(of), from: "kubernetes-models/apps/v1/Deployment" },
  Service: { make: (of) => new Service(of), from: "kubernetes-models/v1/Service" },
  PodDisruptionBudget: {
    make: (of) => new PodDisruptionBudget(of),
    from: "kubernetes-models/policy/v1/PodDisruptionBudget",
  },
  ScaledObject: {
    make: (of) => new ScaledObject(of),
    from: "@kubernetes-models/keda/keda.sh/v1alpha1/ScaledObject",
  },
};

/** A field that does not exist, and one of a wrong type. */
interface Misspelled {
  replica?: number;
  replicas?: string;
}

/** What the compiler says of manifests as literals of their types: the schemas let fields pass that do not exist, and the types do not. */
function typeErrors(of: readonly Manifest[]): string {
  mkdirSync(join(root, ".build"), { recursive: true });
  const folder = mkdtempSync(join(root, ".build/kubernetes-"));
  try {
    const files = of.map((manifest, i) => {
      const file = join(folder, `manifest-${i}.ts`);
      const { from } = KINDS[manifest.kind] as { from: string };
      const type = `I${manifest.kind}`;
      writeFileSync(
        file,
        `import type { ${type} } from "${from}";\nexport const it: ${type} = ${JSON.stringify(manifest)};\n`,
      );
      return file;
    });
    const options = ["--noEmit", "--strict", "--skipLibCheck", "--module", "nodenext", "--types", "node"];
    execFileSync(
      process.execPath,
      [join(root, "node_modules/typescript/bin/tsc"), "--ignoreConfig", ...options, ...files],
      { encoding: "utf8", stdio: "pipe", cwd: root },
    );
    return "";
  } catch (error) {
    return String((error as { readonly stdout?: string }).stdout);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

describe("the manifests", () => {
  it("are of the kinds that the page shows [N1146]", () => {
    expect([...new Set([...manifests.values()].map(({ kind }) => kind))].sort()).toEqual(
      Object.keys(KINDS).sort(),
    );
  });

  it.each([...manifests])("%s is valid by its schema [N1146]", (_name, manifest) => {
    KINDS[manifest.kind]?.make(manifest as never).validate();
  });

  it("have no field that does not exist, and none of a wrong type [N1146]", () => {
    expect(typeErrors([...manifests.values()])).toBe("");
  });

  it("would not pass with a field misspelled, or of a wrong form [N1146]", () => {
    const wrong = structuredClone(deployment) as unknown as { spec: Misspelled };
    wrong.spec.replica = 3;
    expect(typeErrors([wrong as never])).toContain("replica");
    wrong.spec.replicas = "three";
    expect(() => new Deployment(wrong as never).validate()).toThrow(/replicas/);
  });

  it.each([
    ["shop", "deployment.yaml", "scaling.yaml"],
    ["workers", "workers.yaml", "workers-scaling.yaml"],
  ])("of the %s name each other as they are named [N1147]", (name, deployed, scaled) => {
    const { metadata, spec } = deploymentOf(deployed);
    const labels = spec?.template.metadata?.labels;
    expect(metadata?.name).toBe(name);
    expect(labels).toEqual({ app: name });
    expect(spec?.selector.matchLabels).toEqual(labels);
    expect(manifests.get(scaled)).toMatchObject({ metadata: { name }, spec: { scaleTargetRef: { name } } });
  });

  it("of the service and the disruptions are of the shop [N1147]", () => {
    const labels = deployment.spec?.template.metadata?.labels;
    expect(manifests.get("disruption.yaml")).toMatchObject({ spec: { selector: { matchLabels: labels } } });
    const service = manifests.get("service.yaml") as unknown as IService;
    expect(service.spec?.selector).toEqual(labels);
    const ports = container?.ports?.map(({ name }) => name);
    for (const { targetPort } of service.spec?.ports ?? []) expect(ports).toContain(targetPort);
  });

  it.each([
    ["shop", "deployment.yaml", SHUTDOWN],
    ["workers", "workers.yaml", WORKERS_SHUTDOWN],
  ] as const)(
    "of the %s leave each limit more time than the one within it [N1147]",
    (name, deployed, shutdown) => {
      const pod = deploymentOf(deployed).spec?.template.spec;
      const [container] = pod?.containers ?? [];
      const { startTimeoutMs, flushTimeoutMs, lingerMs, drainTimeoutMs } = APPLICATION_DEFAULTS;
      const sleepMs = (container?.lifecycle?.preStop?.sleep?.seconds ?? 0) * SECOND;
      const graceMs = (pod?.terminationGracePeriodSeconds ?? 0) * SECOND;
      // Who gets requests serves on for a while.
      expect(sleepMs > 0).toBe(name === "shop");
      expect(graceMs).toBeGreaterThan(sleepMs + drainTimeoutMs + flushTimeoutMs + lingerMs);
      expect(Object.values(shutdown).reduce((sum, ms) => sum + ms, 0)).toBeLessThan(drainTimeoutMs);
      const { failureThreshold = 0, periodSeconds = 0 } = container?.startupProbe ?? {};
      expect(failureThreshold * periodSeconds * SECOND).toBeGreaterThan(startTimeoutMs);
      const { timeoutMs, checkTimeoutMs } = HEALTH_DEFAULTS;
      for (const probe of [container?.startupProbe, container?.livenessProbe, container?.readinessProbe])
        expect((probe?.timeoutSeconds ?? 0) * SECOND).toBeGreaterThan(timeoutMs + checkTimeoutMs);
      expect(readFileSync(join(FOLDER, "main.ts"), "utf8")).toContain("drainTimeoutMs: 25_000");
    },
  );
});

/** The metrics that a ScaledObject asks for, and those of a page. */
function asksFor(scaled: string, page: string): void {
  const queries = [...JSON.stringify(manifests.get(scaled)).matchAll(/max\((\w+)\{(.*?)\}\)/g)];
  expect(queries.length).toBeGreaterThan(1);
  const known = Object.values(HOST_METRICS).map((one) => headOf(one).name);
  for (const [, name = "", labels = ""] of queries) {
    expect(known).toContain(name);
    const lines = page.split("\n").filter((one) => one.startsWith(`${name}{`));
    const wanted = labels.replaceAll("\\", "").split(",");
    expect(lines.filter((line) => wanted.every((label) => line.includes(label)))).toHaveLength(1);
  }
}

describe("the program that the manifests deploy", () => {
  const service = run((_config, self) => shop(self, memory(), { http: 0, ops: 0 }), {
    name: "shop",
    host: false,
    system: { report: false },
  });
  let ops: string;
  beforeAll(async () => {
    await service.started;
    const at = httpServer({ fetch: () => new Response() }, { port: 0 }).at(service.system, "ops");
    ops = `http://127.0.0.1:${(await at.address()).port}`;
  });
  afterAll(() => service.stop());

  const asked = async (path: string): Promise<readonly [number, string]> => {
    const response = await fetch(ops + path);
    return [response.status, await response.text()];
  };

  it("answers at the paths of the probes: readiness for one, liveness for the others [N1148]", async () => {
    const { startupProbe, livenessProbe, readinessProbe } = container ?? {};
    for (const probe of [startupProbe, livenessProbe, readinessProbe])
      expect(probe?.httpGet?.port).toBe("ops");
    expect(container?.ports).toContainEqual({ name: "ops", containerPort: 9_000 });
    for (const probe of [startupProbe, livenessProbe]) {
      const [status, body] = await asked(probe?.httpGet?.path ?? "");
      expect([status, JSON.parse(body).live, "ready" in JSON.parse(body)]).toEqual([200, true, false]);
    }
    const [status, body] = await asked(readinessProbe?.httpGet?.path ?? "");
    expect([status, JSON.parse(body).ready]).toEqual([200, true]);
  });

  it("has the metrics that the scaling asks for, at the path that Prometheus is told [N1148]", async () => {
    const annotations = deployment.spec?.template.metadata?.annotations ?? {};
    expect(annotations["prometheus.io/port"]).toBe("9000");
    const path = annotations["prometheus.io/path"] ?? "";
    await until(async () => (await asked(path))[1].includes("signalbox_host_due{"), "the first signals");
    const [, page] = await asked(path);
    asksFor("scaling.yaml", page);
  });
});

describe("the program of the workers", () => {
  const service = run((_config, self) => workers(self, memory(), 0), {
    name: "workers",
    host: false,
    system: { report: false },
  });
  afterAll(() => service.stop());

  it("has the metrics that the scaling asks for, of its pipelines and its queue [N1346]", async () => {
    await service.started;
    const at = httpServer({ fetch: () => new Response() }, { port: 0 }).at(service.system, "ops");
    const path = `http://127.0.0.1:${(await at.address()).port}/metrics`;
    const page = async (): Promise<string> => (await fetch(path)).text();
    const has = async (kind: string): Promise<boolean> =>
      (await page())
        .split("\n")
        .some((line) => line.startsWith("signalbox_host_due{") && line.includes(kind));
    await until(() => has('kind="pipelines"'), "the first signals of pipelines");
    await until(() => has('kind="queues"'), "the first signals of queues");
    asksFor("workers-scaling.yaml", await page());
  });
});

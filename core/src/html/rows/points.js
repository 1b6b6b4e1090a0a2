// ---- points.js: many points on a canvas, with WebGL or without ----

// How a point looks is eight bytes, as many as its place: red, green, blue, size, shape, whether it is marked, and two unused.
const LOOK = { bytes: 8, size: 3, shape: 4, mark: 5 };
/** The byte of the usual size. Others are from half of its diameter to twice. */
const USUAL_SIZE = 85;
/** Most points in the panel that are drawn one by one; more are a picture of their density. */
const MOST_POINTS = 300000;
/** Opacity of points beside marked ones. */
const FADED = 0.13;

const VERTEX = `
attribute vec2 place;
attribute vec4 colour;
attribute vec2 kind;
uniform vec2 scale, shift;
uniform float diameter, opacity, faded, part;
varying vec4 paint;
varying float shape, size;
void main() {
  shape = kind.x;
  size = diameter * (0.5 + 1.5 * colour.a);
  bool marked = kind.y > 0.5;
  float alpha = marked ? 1.0 : part > 0.5 ? faded : opacity;
  paint = vec4(colour.rgb * alpha, alpha);
  // Part 0 is all points; where some are marked, part 1 are the others, and part 2, on top of them, the marked.
  bool left_out = (part > 1.5 && !marked) || (part > 0.5 && part < 1.5 && marked);
  gl_Position = left_out ? vec4(2.0, 2.0, 0.0, 1.0) : vec4(place * scale + shift, 0.0, 1.0);
  gl_PointSize = 1.15 * size + 2.0;
}`;

// Shapes by the distance to their edges, in pixels, which gives smooth edges at any size.
const FRAGMENT = `
precision mediump float;
varying vec4 paint;
varying float shape, size;
void main() {
  vec2 at = (gl_PointCoord - 0.5) * (1.15 * size + 2.0);
  float radius = 0.5 * size;
  float distance;
  if (shape < 0.5) distance = length(at) - radius;
  else if (shape < 1.5) distance = max(abs(at.x), abs(at.y)) - 0.85 * radius;
  else if (shape > 2.5 && shape < 3.5) distance = 0.7071 * (abs(at.x) + abs(at.y) - 1.15 * radius);
  else if (shape < 4.5) {
    if (shape > 3.5) at.y = -at.y;
    distance = max(at.y - 0.7 * radius, 0.866 * abs(at.x) - 0.5 * at.y - 0.5 * radius);
  } else {
    vec2 turned = abs(shape < 5.5 ? at : 0.7071 * vec2(at.x + at.y, at.x - at.y));
    distance = max(min(turned.x, turned.y) - max(0.5, 0.2 * radius), max(turned.x, turned.y) - radius);
  }
  gl_FragColor = paint * clamp(0.5 - distance, 0.0, 1.0);
}`;

/**
 * Points drawn by WebGL in one call from buffers that stay in the device's memory: while the view moves only uniforms change.
 * Null if WebGL is not available; then the canvas has no other context either.
 */
function webglPoints(canvas) {
  // The drawing is kept, so that the page can be printed.
  const gl = canvas.getContext('webgl', { antialias: false, preserveDrawingBuffer: true });
  if (!gl || gl.isContextLost()) return null;
  const program = gl.createProgram();
  const sources = { [gl.VERTEX_SHADER]: VERTEX, [gl.FRAGMENT_SHADER]: FRAGMENT };
  for (const [type, source] of Object.entries(sources)) {
    const shader = gl.createShader(Number(type));
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) return null;
  gl.useProgram(program);
  const setUniform = (name, ...parts) => gl[`uniform${parts.length}f`](gl.getUniformLocation(program, name), ...parts);
  gl.enable(gl.BLEND);
  gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  const buffers = { places: gl.createBuffer(), looks: gl.createBuffer() };
  let count = 0;

  function upload(buffer, values) {
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
  }

  /** Tells the device where a point's part is in a buffer; both buffers have eight bytes a point. */
  function setAttribute(buffer, name, parts, type, normalised, offset) {
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    const at = gl.getAttribLocation(program, name);
    gl.enableVertexAttribArray(at);
    gl.vertexAttribPointer(at, parts, type, normalised, LOOK.bytes, offset);
  }

  setAttribute(buffers.places, 'place', 2, gl.FLOAT, false, 0);
  setAttribute(buffers.looks, 'colour', 4, gl.UNSIGNED_BYTE, true, 0);
  setAttribute(buffers.looks, 'kind', 2, gl.UNSIGNED_BYTE, false, LOOK.shape);
  const named = gl.getExtension('WEBGL_debug_renderer_info');
  const device = String(gl.getParameter(named ? named.UNMASKED_RENDERER_WEBGL : gl.RENDERER));

  return {
    name: 'webgl',
    /** Most points that are drawn one by one while the view moves: few if the processor draws them. */
    most: /swiftshader|llvmpipe|software|basic render/i.test(device) ? 5000 : MOST_POINTS,
    setPlaces(places) {
      count = places.length / 2;
      upload(buffers.places, places);
    },
    setLooks(looks) {
      upload(buffers.looks, looks);
    },
    /** Draws the points; `view` is { scale, shift } from places to [−1, 1], `style` { diameter, opacity, anyMarked }. */
    draw(view, style) {
      gl.viewport(0, 0, canvas.width, canvas.height);
      gl.clearColor(0, 0, 0, 0);
      gl.clear(gl.COLOR_BUFFER_BIT);
      setUniform('scale', ...view.scale);
      setUniform('shift', ...view.shift);
      setUniform('diameter', style.diameter);
      setUniform('opacity', style.opacity);
      setUniform('faded', FADED);
      for (const part of style.anyMarked ? [1, 2] : [0]) {
        setUniform('part', part);
        gl.drawArrays(gl.POINTS, 0, count);
      }
    },
  };
}

/** The same without WebGL: copies of small images of markers. */
function plainPoints(canvas, places, looks) {
  const context = canvas.getContext('2d');
  let images = new Map();
  let imagesOf = '';

  /** The image of a marker; the same key is the same look. */
  function imageOf(i, diameter) {
    const at = i * LOOK.bytes;
    // Sixteen sizes are enough.
    const size = Math.round(looks[at + LOOK.size] / 17);
    const colour = (looks[at] << 16) | (looks[at + 1] << 8) | looks[at + 2];
    const key = (colour * 8 + looks[at + LOOK.shape]) * 16 + size;
    let image = images.get(key);
    if (!image) {
      const diameterOf = diameter * (0.5 + size / 10);
      image = markerImage(css([looks[at], looks[at + 1], looks[at + 2]]), looks[at + LOOK.shape], diameterOf);
      images.set(key, image);
    }
    return image;
  }

  /** Draws all points if `marked` is null, or those that are or are not. */
  function drawPart(view, style, marked) {
    const { width, height } = canvas;
    for (let i = 0; i < places.length / 2; i++) {
      if (marked !== null && looks[i * LOOK.bytes + LOOK.mark] > 0 !== marked) continue;
      const x = (places[2 * i] * view.scale[0] + view.shift[0] + 1) * 0.5 * width;
      const y = (1 - places[2 * i + 1] * view.scale[1] - view.shift[1]) * 0.5 * height;
      if (!(x > -20 && x < width + 20 && y > -20 && y < height + 20)) continue;
      const image = imageOf(i, style.diameter);
      context.drawImage(image, Math.round(x - image.width / 2), Math.round(y - image.height / 2));
    }
  }

  return {
    name: '2d',
    most: 5000,
    setPlaces(all) {
      places = all;
    },
    setLooks(all) {
      looks = all;
    },
    draw(view, style) {
      if (imagesOf !== String(style.diameter)) images = new Map();
      imagesOf = String(style.diameter);
      context.clearRect(0, 0, canvas.width, canvas.height);
      for (const marked of style.anyMarked ? [false, true] : [null]) {
        context.globalAlpha = marked === null ? style.opacity : marked ? 1 : FADED;
        drawPart(view, style, marked);
      }
    },
  };
}

/** Corners of the markers that have some, for a radius of 1. */
const CORNERS = {
  [SHAPE.square]: '0.85,0.85 -0.85,0.85 -0.85,-0.85 0.85,-0.85',
  [SHAPE.triangle]: '0,-1 0.98,0.7 -0.98,0.7',
  [SHAPE.diamond]: '0,-1.15 1.15,0 0,1.15 -1.15,0',
  [SHAPE.inverted]: '0,1 0.98,-0.7 -0.98,-0.7',
};

/** A small image of a marker. */
function markerImage(colour, shape, diameter) {
  const side = Math.ceil(1.15 * diameter) + 2;
  const image = element('canvas', { width: side, height: side });
  const context = image.getContext('2d');
  const radius = diameter / 2;
  context.translate(side / 2, side / 2);
  context.fillStyle = colour;
  context.beginPath();
  if (shape === SHAPE.circle) context.arc(0, 0, radius, 0, 2 * Math.PI);
  else if (CORNERS[shape])
    for (const corner of CORNERS[shape].split(' ')) context.lineTo(...corner.split(',').map((part) => part * radius));
  else {
    if (shape === SHAPE.cross) context.rotate(Math.PI / 4);
    const thick = Math.max(1, 0.4 * radius);
    context.rect(-radius, -thick / 2, diameter, thick);
    context.rect(-thick / 2, -radius, thick, diameter);
  }
  context.fill();
  return image;
}

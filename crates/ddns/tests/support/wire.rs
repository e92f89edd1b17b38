//! A socket as a server has it, secured or not. Others may look at it while it is open.

use std::io::{Read, Result, Write};
use std::net::TcpStream;
use std::sync::Arc;

use rustls::{ServerConfig, ServerConnection, StreamOwned};

pub enum Wire {
    Plain(Socket),
    Secured(Box<StreamOwned<ServerConnection, Socket>>),
}

/// Reads and writes as a socket does.
pub struct Socket(Arc<TcpStream>);

impl Wire {
    pub fn plain(socket: Arc<TcpStream>) -> Self {
        Self::Plain(Socket(socket))
    }

    /// With TLS, whose handshake comes with the first bytes.
    pub fn secured(self, config: &Arc<ServerConfig>) -> Self {
        match self {
            Self::Plain(socket) => {
                let session = ServerConnection::new(config.clone()).expect("a server side");
                Self::Secured(Box::new(StreamOwned::new(session, socket)))
            }
            secured @ Self::Secured(_) => secured,
        }
    }

    pub fn socket(&self) -> &TcpStream {
        match self {
            Self::Plain(socket) => &socket.0,
            Self::Secured(stream) => &stream.sock.0,
        }
    }
}

impl Read for Socket {
    fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        (&*self.0).read(into)
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        (&*self.0).write(bytes)
    }

    fn flush(&mut self) -> Result<()> {
        (&*self.0).flush()
    }
}

impl Read for Wire {
    fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        match self {
            Self::Plain(socket) => socket.read(into),
            Self::Secured(stream) => stream.read(into),
        }
    }
}

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        match self {
            Self::Plain(socket) => socket.write(bytes),
            Self::Secured(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> Result<()> {
        match self {
            Self::Plain(socket) => socket.flush(),
            Self::Secured(stream) => stream.flush(),
        }
    }
}
